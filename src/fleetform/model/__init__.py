"""Records only: what people write (kinds), what the engine answers (results), every reason it can give (reasons)."""
