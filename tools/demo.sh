#!/usr/bin/env bash
# `make demo`: from one spec to every switch's configuration, then the same configurations on a live network of virtual switches:
# planned, applied in waves, validated, broken, repaired, changed; a slow cable named by traffic; then the same for a simulated
# InfiniBand subnet under real OpenSM, and two booted hosts, provisioned by Ansible.
# The live parts need root and network namespaces on Linux.
#
# Every step says what exit code it must have; the script ends with a summary, and non-zero when a step was not as said.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

out=out/demo
failures=0
summary=()

# expect CODE COMMAND...: run it, show it, compare its exit code. Long output is cut to what fits a screen; SHOW=tail keeps its end.
# WITHIN=SECONDS runs it again until the code is the expected one: LLDP needs a few seconds to hear of a change.
expect() {
    local wanted=$1 code=0 log=$out/last.log started=$SECONDS
    shift
    printf '\n$ %s\n' "$*"
    "$@" >"$log" 2>&1 || code=$?
    while [ "$code" != "$wanted" ] && [ $((SECONDS - started)) -lt "${WITHIN:-0}" ]; do
        sleep 1
        code=0
        "$@" >"$log" 2>&1 || code=$?
    done
    local lines
    lines=$(wc -l <"$log")
    if [ "${SHOW:-head}" = tail ]; then
        [ "$lines" -le 40 ] || printf '  %d lines before these ...\n' $((lines - 40))
        tail -n 40 "$log"
    else
        head -n 40 "$log"
        [ "$lines" -le 40 ] || printf '  ... %d more lines\n' $((lines - 40))
    fi
    note "$code" "$wanted" "$* (exit $code, $((SECONDS - started)) s)"
}

# note FOUND WANTED TEXT: one line of the summary, a failure when the two differ.
note() {
    if [ "$1" = "$2" ]; then
        summary+=("ok      $3")
    else
        summary+=("FAILED  $3: expected $2, found $1")
        failures=$((failures + 1))
    fi
}

rm -rf "$out"
mkdir -p "$out"

for cluster in lab roce-24k; do
    spec=inventories/$cluster/cluster.yaml
    echo
    echo "=== $cluster: from $spec to files"
    expect 0 fabric check "$spec"
    expect 0 fabric show summary --spec "$spec"
    expect 0 fabric render "$spec" -o "$out/$cluster"
    files=$(find "$out/$cluster" -type f 2>/dev/null | wc -l)
    note "$((files > 0))" 1 "$files files in $out/$cluster, its manifest among them"
done

echo
echo "=== lab: nothing changed, so a plan against what was just rendered is empty"
expect 0 fabric plan inventories/lab/cluster.yaml --against "$out/lab"

echo
echo "=== lab: another MTU, in a copy of the spec; what would it change, and on which devices?"
cp -r inventories/lab "$out/lab-changed"
changed=$out/lab-changed/cluster.yaml
if grep -q '^mtu:' "$changed"; then
    sed -i -E '/^mtu:/,/^[^ #]/ s/\bip: *[0-9]+/ip: 8192/' "$changed"
else
    printf '\nmtu:\n  ip: 8192\n' >>"$changed"
fi
expect 1 diff inventories/lab/cluster.yaml "$changed"
expect 2 fabric plan "$changed" --against "$out/lab"

# --- the live part ------------------------------------------------------------------------------------------------------
# What is named here must be named by `validate`: a pair of crossed cables, and one that is cut.
SWAP_A=z01-ctsw01:Ethernet3/1/1
SWAP_B=z01-ctsw02:Ethernet3/2/1
CUT=z02-rtsw001:Ethernet8/1/1

# said TEXT...: the last command's output names it.
said() {
    local text
    for text; do
        note "$(grep -cF -- "$text" "$out/last.log" | sed 's/^[1-9].*/1/')" 1 "the output names $text"
    done
}

# settle SECONDS COMMAND...: wait until it succeeds.
settle() {
    local left=$1
    shift
    until "$@" >/dev/null 2>&1 || [ "$left" -le 0 ]; do
        sleep 2
        left=$((left - 2))
    done
}

live_lab() {
    local spec=$out/live/cluster.yaml
    mkdir -p "$out/live"
    cp inventories/lab/cluster.yaml "$spec"
    # The operator's seat inside the lab: from there every switch is reached by SSH, as from a jump host.
    local seat=(fabric lab exec "$spec" --)

    echo
    echo "=== live: ten new switches and eight hosts, as virtual machines of the lab; everything is to be done"
    trap 'fabric lab down "$out/live/cluster.yaml" >/dev/null 2>&1' EXIT
    expect 0 fabric lab up --blank "$spec"
    expect 2 "${seat[@]}" fabric plan "$spec" --summary
    SHOW=tail expect 0 "${seat[@]}" fabric apply "$spec" --auto-approve

    echo
    echo "=== live: does it do what the spec declares? cables, routes, QoS, and pings between all hosts"
    expect 0 "${seat[@]}" fabric plan "$spec"
    WITHIN=30 SHOW=tail expect 0 "${seat[@]}" fabric validate all "$spec" --full --ping-by 'ip netns exec {host}'

    echo
    echo "=== live: two cables are exchanged and one is cut; validate names exactly these"
    expect 0 fabric lab fault "$spec" swap "$SWAP_A" "$SWAP_B"
    expect 0 fabric lab fault "$spec" cut "$CUT"
    sleep 4
    expect 2 "${seat[@]}" fabric validate cabling "$spec"
    said "$SWAP_A" "$SWAP_B" "$CUT" "exchange the plugs" "2 failed"

    echo
    echo "=== live: repaired"
    expect 0 fabric lab fault "$spec" restore
    WITHIN=40 expect 0 "${seat[@]}" fabric validate cabling "$spec"

    prove_it "$spec"  # before the MTU changes, which the lab's hosts do not follow: their large packets would be lost

    echo
    echo "=== live: one value of the spec changes (the IP MTU); the plan by groups, then the change in waves"
    printf '\nmtu:\n  ip: 8192\n' >>"$spec"
    expect 2 "${seat[@]}" fabric plan "$spec"
    SHOW=tail expect 0 "${seat[@]}" fabric apply "$spec" --auto-approve
    expect 0 "${seat[@]}" fabric validate qos "$spec"

    expect 0 fabric lab down "$spec"
    trap - EXIT
}

# prove_it SPEC: which part is slow? In the lab that is up: collectives by Open MPI between the hosts of zone 1, over cables that carry
# their designed speeds, scaled down; a slow cable must get its name, and a healthy fabric none. Then the dumps of a job that hangs.
SLOW_A=z01-rtsw001:eth2/3/1
SLOW_B=z01-r001-h1:beth1

prove_it() {
    local spec=$1 dumps=tests/verify/flight_recorder/data/gpu-2.9
    local seat=(fabric lab exec "$spec" --)
    local collectives=(fabric validate collectives "$spec" --engine mpi --launcher mpirun --python "$PWD/.venv/bin/python" --zone 1)
    collectives+=(--stage pairs --stage retest --stage rails --max-parallel 1 --sizes 64K:64K --iterations 2 --warmup 1)

    echo
    echo "=== 24,576 GPUs in half an hour: which checks fit, and how would they be started?"
    expect 0 fabric validate collectives inventories/roce-24k/cluster.yaml --budget 30 --dry-run

    echo
    echo "=== live: a cable now carries a fifth of its speed; traffic between the hosts names it, with both its ports"
    expect 0 fabric lab shape "$spec" --kbit-per-gbps 12.5
    expect 0 fabric lab fault "$spec" slow "$SLOW_B" --rate 1mbit
    expect 2 "${seat[@]}" "${collectives[@]}" --results "$out/live/slow.jsonl"
    said "collectives.cable: $SLOW_A <-> $SLOW_B" "1 failed"

    echo
    echo "=== live: the same judgement offline, from the file of results, and as a page for the browser"
    expect 2 fabric locate "$spec" "$out/live/slow.jsonl"
    expect 2 fabric report "$spec" "$out/live/slow.jsonl" -o "$out/report.html"

    echo
    echo "=== live: repaired, and measured again; what does the history know of that NIC?"
    expect 0 fabric lab fault "$spec" restore
    WITHIN=60 expect 0 "${seat[@]}" "${collectives[@]}"
    expect 0 "${seat[@]}" fabric history "$spec" "$SLOW_B"
    said "well again at"

    echo
    echo "=== a training job hangs: from PyTorch's flight recorder to the rank that all wait for, its GPU, NIC and switch port"
    printf '%s\n' '0 z01-r001-h1 0' '1 z01-r001-h1 1' '2 z01-r002-h1 0' '3 z01-r002-h1 1' >"$out/ranks.txt"
    expect 2 fabric flight-recorder "$dumps" --spec "$spec" --ranks "$out/ranks.txt"
    said "flight-recorder.stuck: z01-r002-h1:gpu1 (rank 3)" "switch port z01-rtsw002:eth2/3/1"
}

# --- InfiniBand: real OpenSM on a simulated subnet ----------------------------------------------------------------------
IB_SWAP_A=leaf0009:1
IB_SWAP_B=leaf0009:2

ib_lab() {
    local spec=$out/ib/cluster.yaml
    mkdir -p "$out/ib"
    cp inventories/ib-lab/cluster.yaml "$spec"
    # The seat is a machine with an HCA of the subnet, from which the hosts of the subnet managers are reached by SSH.
    local seat=(fabric lab exec "$spec" --)

    echo
    echo "=== InfiniBand: 384 HCAs, 128 switches, two hosts for OpenSM that have no configuration yet"
    trap 'fabric lab down "$out/ib/cluster.yaml" >/dev/null 2>&1' EXIT
    expect 0 fabric check "$spec"
    expect 0 fabric lab up --blank "$spec"
    expect 2 "${seat[@]}" fabric plan "$spec" --summary
    SHOW=tail expect 0 "${seat[@]}" fabric apply "$spec" --auto-approve

    echo
    echo "=== InfiniBand: every cable, every pair of HCAs, partitions, QoS, counters, the subnet managers themselves"
    SHOW=tail expect 0 "${seat[@]}" fabric validate all "$spec" --save "$out/ib/lids.json"

    echo
    echo "=== InfiniBand: a new tenant is one more partition; OpenSM takes it without a restart"
    sed -i 's/^  partitions:$/&\n    - {name: tenant-c, pkey: 0x1003, members: [{hosts: [gt0001, gt0002]}]}/' "$spec"
    expect 2 "${seat[@]}" fabric plan "$spec"
    SHOW=tail expect 0 "${seat[@]}" fabric apply "$spec" --auto-approve
    SHOW=tail expect 0 "${seat[@]}" fabric validate partitions "$spec"

    echo
    echo "=== InfiniBand: two cables are exchanged; validate names exactly these"
    expect 0 fabric lab fault "$spec" swap "$IB_SWAP_A" "$IB_SWAP_B"
    expect 2 "${seat[@]}" fabric validate cabling "$spec"
    said "exchange the plugs in $IB_SWAP_A and $IB_SWAP_B" "1 failed"
    expect 0 fabric lab fault "$spec" restore
    expect 0 "${seat[@]}" fabric validate cabling "$spec"

    echo
    echo "=== InfiniBand: the master subnet manager is killed; the standby takes over, and no LID moves"
    expect 0 fabric lab fault "$spec" kill-sm
    settle 30 sh -c 'fabric lab status "$1" | grep -q "gt0025.* master"' sh "$spec"
    expect 2 "${seat[@]}" fabric validate sm "$spec" --full --against "$out/ib/lids.json"
    said "gt0025 is master" "0 of 512 LIDs changed"
    expect 0 fabric lab fault "$spec" restore
    WITHIN=30 SHOW=tail expect 0 "${seat[@]}" fabric validate all "$spec" --against "$out/ib/lids.json"

    expect 0 fabric lab down "$spec"
    trap - EXIT
}

# --- hosts: two of them booted as machines, provisioned by the roles ----------------------------------------------------
HOST=z01-r001-h1

host_lab() {
    local spec=$out/hosts/cluster.yaml
    mkdir -p "$out/hosts"
    # One rack of the lab is enough: its switch, and its two hosts as booted Debian machines with stand-ins for GPUs and NICs.
    # The mount by NFS is left out: the hosts share this machine's kernel, which may have no NFS client.
    sed -e '/^    - {id: 2, /d' -e 's/^    - {id: 1, racks: 2,/    - {id: 1, racks: 1,/' -e '/kind: pnfs/d' \
        inventories/lab/cluster.yaml >"$spec"
    local seat=(fabric lab exec "$spec" --)

    echo
    echo "=== hosts: two machines with a bare Debian, to be provisioned as the spec declares: driver, RDMA, NCCL, mounts"
    trap 'fabric lab down "$out/hosts/cluster.yaml" >/dev/null 2>&1' EXIT
    expect 0 fabric lab up "$spec" --subset z01-rtsw001 --boot 'z01-r001-*' --timeout 900
    SHOW=tail expect 0 "${seat[@]}" fabric apply --hosts "$spec" --drain none --allow-reboot --auto-approve
    SHOW=tail expect 0 "${seat[@]}" fabric validate hosts "$spec" --full

    echo
    echo "=== hosts: a GPU with memory errors, and a NIC that forgot the lossless class; validate names exactly these"
    expect 0 fabric lab fault "$spec" gpu "$HOST" ecc --gpu 3
    expect 0 fabric lab fault "$spec" forget-qos "$HOST" beth4
    expect 2 "${seat[@]}" fabric validate hosts "$spec"
    said "gpu.ecc: $HOST: GPU 3" "rdma.qos: $HOST: beth4" "gpu: 1 failed" "rdma: 3 failed" "nic: 0 failed"

    echo
    echo "=== hosts: repaired; of the NIC as the finding says"
    expect 0 fabric lab fault "$spec" restore
    expect 0 fabric lab exec "$spec" "$HOST" -- systemctl restart fabric-roce@beth4.service
    expect 0 "${seat[@]}" fabric validate hosts "$spec"

    expect 0 fabric lab down "$spec"
    trap - EXIT
}

if [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ] && unshare --net --mount --pid --fork true 2>/dev/null; then
    live_lab
    ib_lab
    host_lab
else
    echo
    echo "=== live: left out, the virtual labs need Linux, root rights and network namespaces"
    summary+=("left out the live parts: they need Linux, root rights and network namespaces")
fi

rm -f "$out/last.log"
echo
echo "=== what was done"
printf '%s\n' "${summary[@]}"
if [ "$failures" -gt 0 ]; then
    echo "demo: $failures of ${#summary[@]} steps were not as expected" >&2
    exit 1
fi
echo "demo: all ${#summary[@]} steps as expected; the files are in $out"
