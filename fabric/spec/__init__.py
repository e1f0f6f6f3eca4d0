"""What the user declares: the models of cluster.yaml, the loader with line numbers, the JSON Schema."""
