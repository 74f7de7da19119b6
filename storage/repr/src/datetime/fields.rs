//! Fields of dates, times, timestamps and intervals: `extract`, `date_part`, `date_trunc`, `make_…`.
