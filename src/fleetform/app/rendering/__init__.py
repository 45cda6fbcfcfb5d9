"""What is rendered and where it goes: objects for Flux, files in a folder, the options behind a rendered field."""
