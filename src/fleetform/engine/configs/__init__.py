"""Config objects: which of them three places name, which count, and what values they become."""
