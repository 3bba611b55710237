"""The child processes of the sides: what they are asked, and how they are supervised."""
