"""What a page shows, made from rows and free of any format."""
