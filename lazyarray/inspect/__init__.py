"""What users can see: explain, profile, strict and doctor. They read plans and records, and change nothing."""
