"""Pure: decisions as functions of a snapshot. No I/O, no clock, no logging; pipeline alone composes the stages."""
