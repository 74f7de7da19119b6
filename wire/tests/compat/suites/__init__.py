"""The suites, in the order in which they run. Each module says how its suite is installed, run and read:

    TITLE, VERSION     what stands in the table
    LIMIT              seconds that a run may take; what has not run by then has not passed
    install(folder)    brings it into a folder of its own, from a registry
    run(job)           runs it against a server (see `job.py`) and tells each test's result to `job.results`

and, where it differs from the others:

    name(test)         a test's name without what differs between the servers
    note(postgresql, dogwood)      what stands below the table, from {test: (outcome, message)} of both servers
    summary(postgresql, dogwood)   lines of the report before what does not pass, from the same
    FOLDER             the suite whose installation it shares
    LEFT_OUT_BECAUSE   why it cannot be run here, or None
"""
