//! Sums and differences of dates, timestamps and intervals.
