"""Predictions as pictures: the published figure redrawn with bands, waterfalls, hot links by tier; SVG, PNG, or one HTML page."""

from fabric.export.prediction_page.page import prediction_page
from fabric.export.prediction_page.sheet import sheet
from fabric.export.prediction_page.write import check_plot_path, plot

__all__ = ("check_plot_path", "plot", "prediction_page", "sheet")
