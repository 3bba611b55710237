"""What a side showed, as it is kept and compared: records, arrays, the ladder of distances."""
