"""Rows in, pages out: the records of a campaign and the pages made of them."""
