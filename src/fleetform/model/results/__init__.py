"""What the engine answers: decisions with their provenance, configs, bindings, render inputs, diagnostics.

Records point at the objects they are about and never copy them. What a verb prints of them is not here.
"""
