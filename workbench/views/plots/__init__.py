"""Arrays in, plotly figures out; never a model."""
