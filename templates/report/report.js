"use strict";
(function () {
  const CELLS = 512, SIZE = 768, BROKEN = 0, UNMADE = 65535, TOP = 65000;
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  // Shares of the median from which a level begins; the words stand in the legend.
  const LEVELS = [
    { from: 0.93, word: "93 % of the median or more", mark: "" },
    { from: 0.85, word: "85 to 93 %", mark: "\u2193" },
    { from: 0.7, word: "70 to 85 %: slow", mark: "\u25bc" },
    { from: 0, word: "below 70 %: very slow", mark: "\u25bc\u25bc" },
    { from: -1, word: "ended wrong", mark: "\u2715" },
    { from: -2, word: "could not be made", mark: "?" },
  ];
  const numbers = (text) => {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0)), view = new DataView(bytes.buffer);
    const found = new Uint16Array(bytes.length / 2);
    for (let at = 0; at < found.length; at++) found[at] = view.getUint16(2 * at, true);
    return found;
  };
  const level = (layer, code) => {
    if (code === BROKEN) return 4;
    if (code === UNMADE) return 5;
    const share = layer.median ? (code / TOP) * layer.top / layer.median : 1;
    return LEVELS.findIndex((one) => share >= one.from);
  };

  function filtering() {
    const box = $("filter");
    if (!box) return;
    const rows = Array.from($("found").tBodies[0].rows), texts = rows.map((row) => row.textContent.toLowerCase());
    box.form.addEventListener("submit", (event) => event.preventDefault());
    box.addEventListener("input", () => {
      const wanted = box.value.toLowerCase();
      let shown = 0;
      rows.forEach((row, at) => { row.hidden = !texts[at].includes(wanted); shown += row.hidden ? 0 : 1; });
      $("filtered").textContent = wanted ? shown + " of " + rows.length : "";
    });
  }

  function map() {
    const canvas = $("heat");
    if (!canvas) return;
    const hosts = data.hosts, count = hosts.length, place = new Map(hosts.map((host, at) => [host, at]));
    const layers = data.layers.map((layer) => ({ ...layer, pairs: null, codes: null, of: null }));
    const cellOf = cells(), many = cellOf.length ? cellOf[cellOf.length - 1] + 1 : 1, size = SIZE / many;
    let layer = open(0), cursor = { x: 0, y: 0 };

    // Which cell each host is in: its own, or with the other hosts of its rack, or with racks beside it.
    function cells() {
      if (count <= 256) return data.racks.map((_, at) => at);
      const racks = 1 + Math.max(...data.racks), each = Math.ceil(racks / CELLS);
      return data.racks.map((rack) => Math.floor(rack / each));
    }
    function open(number) {
      const found = layers[number];
      if (!found.pairs) {
        found.pairs = numbers(data.layers[number].pairs);
        found.codes = numbers(data.layers[number].codes);
        found.of = new Map();
        for (let at = 0; at < found.codes.length; at++) {
          const a = found.pairs[2 * at], b = found.pairs[2 * at + 1];
          for (const [one, other] of [[a, b], [b, a]]) {
            if (!found.of.has(one)) found.of.set(one, new Map());
            found.of.get(one).set(other, found.codes[at]);
          }
        }
      }
      return found;
    }
    function colours() {
      const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
      return { ink: get("--ink"), paper: get("--paper"), line: get("--line"), fill: [get("--l0"), get("--l1"), get("--l2"), get("--l3"), get("--l3"), get("--paper")] };
    }
    // A cell with its pattern: one line, crossed lines, full with a frame, a cross, a dot.
    function cell(pen, paint, x, y, side, step) {
      pen.fillStyle = paint.fill[step];
      pen.fillRect(x, y, side, side);
      if (side < 5 || step === 0) return;
      pen.strokeStyle = paint.ink;
      pen.lineWidth = Math.max(1, side / 12);
      pen.beginPath();
      if (step === 1 || step === 2 || step === 4) { pen.moveTo(x, y + side); pen.lineTo(x + side, y); }
      if (step === 2 || step === 4) { pen.moveTo(x, y); pen.lineTo(x + side, y + side); }
      if (step >= 3) pen.rect(x + 1, y + 1, side - 2, side - 2);
      pen.stroke();
      if (step !== 5) return;
      pen.fillStyle = paint.ink;
      pen.fillRect(x + side * 0.4, y + side * 0.4, side * 0.2, side * 0.2);
    }
    const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    // The worst of each cell, then: what is well as plain pixels, what is slow on top as cells with marks, never too small to be seen.
    function draw() {
      const pen = canvas.getContext("2d"), paint = colours(), worst = new Int8Array(many * many).fill(-1), rank = [0, 1, 3, 4, 5, 2];
      const image = pen.createImageData(SIZE, SIZE), dots = new Uint8ClampedArray(image.data.buffer), marks = [];
      const plain = [paint.fill[0], paint.fill[1]].map(rgb), paper = rgb(paint.paper), wide = Math.max(2, Math.ceil(size));
      const put = (at, [red, green, blue]) => { dots[at] = red; dots[at + 1] = green; dots[at + 2] = blue; dots[at + 3] = 255; };
      for (let at = 0; at < dots.length; at += 4) put(at, paper);
      for (let at = 0; at < layer.codes.length; at++) {
        const a = cellOf[layer.pairs[2 * at]], b = cellOf[layer.pairs[2 * at + 1]], step = level(layer, layer.codes[at]);
        for (const key of [a * many + b, b * many + a]) if (worst[key] < 0 || rank[step] > rank[worst[key]]) worst[key] = step;
      }
      worst.forEach((step, key) => {
        if (step < 0) return;
        const x = (key % many) * size, y = Math.floor(key / many) * size;
        if (step > 1 || size >= 5) { marks.push([step, x, y]); return; }
        for (let down = Math.round(y); down < Math.min(SIZE, Math.round(y) + wide); down++)
          for (let right = Math.round(x); right < Math.min(SIZE, Math.round(x) + wide); right++) put(4 * (down * SIZE + right), plain[step]);
      });
      pen.putImageData(image, 0, 0);
      for (const [step, x, y] of marks.sort((one, other) => rank[one[0]] - rank[other[0]])) {
        const side = Math.max(size, step >= 2 && step <= 4 ? 9 : 3), middle = (side - size) / 2;
        cell(pen, paint, x - middle, y - middle, side, step);
      }
      const side = Math.max(size, 12), middle = (side - size) / 2;
      pen.lineWidth = 2;
      pen.strokeStyle = paint.ink;
      pen.strokeRect(cellOf[cursor.x] * size - middle, cellOf[cursor.y] * size - middle, side, side);
    }
    function legend() {
      const paint = colours(), list = $("legend");
      list.replaceChildren(...LEVELS.flatMap((one, step) => {
        const box = document.createElement("canvas"), pen = box.getContext("2d");
        box.width = box.height = 18;
        box.setAttribute("aria-hidden", "true");
        cell(pen, paint, 0, 0, 18, step);
        const item = element("span");
        item.append(box, (one.mark ? one.mark + " " : "") + one.word);
        return [item, " "];
      }));
    }
    const around = (host, most) => {
      const start = Math.max(0, Math.min(host - Math.floor(most / 2), count - most));
      return Array.from({ length: Math.min(most, count) }, (_, at) => start + at);
    };
    function element(kind, text, name) {
      const made = document.createElement(kind);
      if (text !== undefined) made.textContent = text;
      if (name) made.className = name;
      return made;
    }
    function value(code) {
      return code === BROKEN || code === UNMADE ? "" : ((code / TOP) * layer.top).toPrecision(3) + " ";
    }
    function detail() {
      const most = Number($("zoom").value), rows = around(cursor.y, most), columns = around(cursor.x, most);
      const table = element("table"), head = element("tr"), body = element("tbody"), top = element("thead");
      head.append(element("th", "GB/s"));
      for (const column of columns) { const made = element("th"); made.scope = "col"; made.append(element("span", hosts[column], "turned")); head.append(made); }
      top.append(head);
      for (const row of rows) {
        const line = element("tr"), name = element("th", hosts[row]), known = layer.of.get(row);
        name.scope = "row";
        line.append(name);
        for (const column of columns) {
          const code = known && known.get(column), step = code === undefined ? -1 : level(layer, code);
          line.append(step < 0 ? element("td", "\u00b7", "none") : element("td", value(code) + LEVELS[step].mark, "l" + step));
        }
        body.append(line);
      }
      table.append(top, body);
      $("detail").replaceChildren(table);
      $("where").textContent = "At the cursor: " + hosts[cursor.y] + " with " + hosts[cursor.x] + said()
        + "; median of this test " + layer.median.toPrecision(4) + " GB/s";
    }
    function said() {
      const known = layer.of.get(cursor.y), code = known && known.get(cursor.x);
      if (code === undefined) return ": not measured";
      const step = level(layer, code);
      return step >= 4 ? ": " + LEVELS[step].word : ": " + value(code) + "GB/s, " + LEVELS[step].word;
    }
    // The hosts at the cursor, by number.
    function show(x, y) {
      const inside = (number) => Math.max(0, Math.min(count - 1, number));
      cursor = { x: inside(x), y: inside(y) };
      draw();
      detail();
    }
    // The first host of a cell.
    const firstOf = (number) => Math.max(0, cellOf.indexOf(Math.max(0, Math.min(many - 1, number))));
    function slowest() {
      let found = -1;
      layer.codes.forEach((code, at) => { if (code !== UNMADE && (found < 0 || code < layer.codes[found])) found = at; });
      if (found >= 0) show(layer.pairs[2 * found + 1], layer.pairs[2 * found]); else show(0, 0);
    }
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      show(firstOf(Math.floor((event.clientX - box.left) / box.width * many)), firstOf(Math.floor((event.clientY - box.top) / box.height * many)));
    });
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [0, -10], PageDown: [0, 10], Home: [-many, -many], End: [many, many] }[event.key];
      if (!move) return;
      event.preventDefault();
      show(firstOf(cellOf[cursor.x] + move[0]), firstOf(cellOf[cursor.y] + move[1]));
    });
    $("map-form").addEventListener("submit", (event) => event.preventDefault());
    $("layer").addEventListener("change", (event) => { layer = open(Number(event.target.value)); slowest(); });
    $("zoom").addEventListener("change", detail);
    const box = $("host"), list = $("hosts");
    box.addEventListener("input", () => {
      const wanted = box.value, near = wanted ? hosts.filter((host) => host.includes(wanted)).slice(0, 20) : [];
      list.replaceChildren(...near.map((host) => { const made = element("option"); made.value = host; return made; }));
      const at = place.get(wanted);
      if (at === undefined) return;
      const known = layer.of.get(at), others = known ? Array.from(known) : [];
      const worst = others.sort((one, other) => one[1] - other[1])[0];
      show(worst ? worst[0] : at, at);
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { legend(); draw(); });
    legend();
    slowest();
  }

  filtering();
  map();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
