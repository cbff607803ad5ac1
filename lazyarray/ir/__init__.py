"""The expression: op table, nodes, index maps, and the record that plans are made from."""
