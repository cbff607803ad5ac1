"""Other packages, as they are really used, with arrays whose values are not computed yet."""
