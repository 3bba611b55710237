"""Files of hoisted exports: the container format, the manifest, the writer and the reader."""
