//! What a change costs each operator, by the size of the group that it falls into: the server's processor time for a commit of one row
//! under a view with that operator, less the same without a view.
//!
//! The peer does what it can: a REFRESH after each commit. Both end with the same rows, and the view must be PostgreSQL's answer.

use std::time::{Duration, Instant};

use super::setup::Bench;
use crate::answers::Answer;
use crate::facts::{Changes, Facts};
use crate::maintained::views;
use crate::measure::told;
use crate::report::Report;
use crate::server::{Failure, Kind, Server};

/// Rows of the group into which all changes fall.
const SIZES: [u64; 3] = [1_000, 10_000, 160_000];
/// Commits at least, however long they take.
const COMMITS_MIN: u64 = 12;
/// Commits at most.
const COMMITS_MAX: u64 = 3_000;
/// Seconds of processor time after which a view that is not filled is given up.
const FILLING_MAX_S: f64 = 20.0;
/// How often that is looked at.
const LOOK_EACH: Duration = Duration::from_millis(20);
/// A cost below this many microseconds drowns in what other work of the machine adds: nothing is compared with it.
const MEASURABLE_US: f64 = 3.0;
/// The one that others are compared with.
const SIMPLE: &str = "count(*)";

/// Its name, and the query of the view that has it.
const OPERATORS: [(&str, &str); 34] = [
    (SIMPLE, "SELECT grp, count(*) AS n FROM facts GROUP BY grp"),
    ("sum(int)", "SELECT grp, sum(amount) AS total FROM facts GROUP BY grp"),
    ("sum(numeric)", "SELECT grp, sum(price) AS total FROM facts GROUP BY grp"),
    ("sum(float8)", "SELECT grp, sum(weight) AS total FROM facts GROUP BY grp"),
    ("sum(interval)", "SELECT grp, sum(lasting) AS total FROM facts GROUP BY grp"),
    ("avg(numeric)", "SELECT grp, avg(price) AS mean FROM facts GROUP BY grp"),
    ("stddev(numeric)", "SELECT grp, stddev(price) AS spread FROM facts GROUP BY grp"),
    ("count(DISTINCT)", "SELECT grp, count(DISTINCT amount) AS n FROM facts GROUP BY grp"),
    ("sum(DISTINCT)", "SELECT grp, sum(DISTINCT amount) AS total FROM facts GROUP BY grp"),
    ("min, max", "SELECT grp, min(amount) AS least, max(amount) AS most FROM facts GROUP BY grp"),
    ("string_agg", "SELECT grp, string_agg(label, ',' ORDER BY id) AS labels FROM facts GROUP BY grp"),
    ("array_agg", "SELECT grp, array_agg(amount ORDER BY id) AS amounts FROM facts GROUP BY grp"),
    (
        "percentile_cont",
        "SELECT grp, percentile_cont(0.5) WITHIN GROUP (ORDER BY weight) AS half FROM facts GROUP BY grp",
    ),
    ("mode", "SELECT grp, mode() WITHIN GROUP (ORDER BY kind) AS often FROM facts GROUP BY grp"),
    (
        "row_number() <= 3",
        "SELECT grp, id, amount FROM (SELECT grp, id, amount, row_number() OVER (PARTITION BY grp ORDER BY amount DESC, id) AS place \
         FROM facts) AS placed WHERE place <= 3",
    ),
    (
        "rank() <= 3",
        "SELECT grp, id, amount FROM (SELECT grp, id, amount, rank() OVER (PARTITION BY grp ORDER BY amount DESC) AS place \
         FROM facts) AS placed WHERE place <= 3",
    ),
    ("top 3 by LIMIT", "SELECT id, amount FROM facts ORDER BY amount DESC, id LIMIT 3"),
    (
        "ROWS 10 PRECEDING",
        "SELECT id, sum(amount) OVER (PARTITION BY grp ORDER BY id ROWS 10 PRECEDING) AS total FROM facts",
    ),
    ("lag", "SELECT id, amount - lag(amount) OVER (PARTITION BY grp ORDER BY id) AS rise FROM facts"),
    ("row_number", "SELECT id, row_number() OVER (PARTITION BY grp ORDER BY id) AS place FROM facts"),
    ("running sum", "SELECT id, sum(amount) OVER (PARTITION BY grp ORDER BY id) AS total FROM facts"),
    ("filter", "SELECT id, amount FROM facts WHERE kind < 50"),
    ("join", "SELECT f.id, f.amount, g.name FROM facts f JOIN groups g ON g.id = f.grp"),
    ("outer join", "SELECT g.id AS grp, g.name, f.id, f.amount FROM groups g LEFT JOIN facts f ON f.grp = g.id"),
    ("join, a group beside another", "SELECT f.id, f.amount, o.label FROM facts f JOIN facts o ON o.id = f.parent"),
    (
        "EXISTS",
        "SELECT g.id, g.name FROM groups g WHERE EXISTS (SELECT FROM facts f WHERE f.grp = g.id AND f.kind < 50)",
    ),
    (
        "EXISTS, one of a thousand matches",
        "SELECT g.id, g.name FROM groups g WHERE EXISTS (SELECT FROM facts f WHERE f.grp = g.id AND f.amount < 1000)",
    ),
    (
        "EXISTS among themselves",
        "SELECT f.id, f.amount FROM facts f WHERE EXISTS (SELECT FROM facts o WHERE o.grp = f.grp AND o.amount < 1000)",
    ),
    (
        "NOT EXISTS, no index",
        "SELECT g.id FROM groups g WHERE NOT EXISTS (SELECT FROM facts f WHERE f.grp + 0 = g.id AND f.kind < 50)",
    ),
    ("DISTINCT", "SELECT DISTINCT grp, kind FROM facts"),
    ("EXCEPT", "SELECT kind FROM facts EXCEPT SELECT id FROM groups"),
    ("UNION", "SELECT kind FROM facts UNION SELECT id FROM groups"),
    ("INTERSECT", "SELECT kind FROM facts INTERSECT SELECT id FROM groups"),
    (
        "WITH RECURSIVE",
        "WITH RECURSIVE reached (id) AS (SELECT id FROM facts WHERE parent IS NULL \
         UNION SELECT f.id FROM facts f JOIN reached r ON f.parent = r.id) SELECT id FROM reached",
    ),
];

/// Every operator at every size.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    for rows in SIZES.into_iter().filter(|rows| *rows <= bench.options.group.max(SIZES[0])) {
        let facts = Facts { rows, seed: bench.options.seed };
        for server in bench.servers() {
            facts.fill(server)?;
        }
        let mut trial = Trial { bench, facts, changed: 0 };
        // The first ones find everything cold.
        trial.without_a_view()?;
        let (ours, peer) = trial.without_a_view()?;
        report.pair(&format!("a commit of one row without a view, {rows} rows: processor time"), "µs", ours, peer)?;
        let mut simple = None;
        for (name, query) in OPERATORS {
            match trial.operator(report, name, query, simple) {
                Ok(cost) => simple = simple.or(cost),
                Err(failure) => report.failed(&format!("{name}, a group of {rows} rows"), &told(&*failure))?,
            }
            for server in bench.servers() {
                server.connect()?.batch_execute("DROP MATERIALIZED VIEW IF EXISTS kept")?;
            }
        }
        for server in bench.servers() {
            Facts::drop(server)?;
        }
    }
    Ok(())
}

/// One size of the group.
struct Trial<'a> {
    bench: &'a Bench<'a>,
    facts: Facts,
    /// Commits that both systems have had.
    changed: u64,
}

/// Makes the view; seconds of processor time until it is filled, or nothing if that takes too many.
fn fill(server: &Server, query: &str) -> Result<Option<f64>, Failure> {
    let mut client = server.connect()?;
    let before = server.meter().seconds()?;
    let create = format!("CREATE MATERIALIZED VIEW kept AS {query}");
    if server.kind == Kind::PostgreSql {
        client.batch_execute(&create)?;
    } else {
        // It is filled beside us, so that we can look.
        client.batch_execute(&format!("{create} WITH NO DATA"))?;
        while views(&mut client)?.filling > 0 {
            if server.meter().seconds()? - before > FILLING_MAX_S {
                return Ok(None);
            }
            std::thread::sleep(LOOK_EACH);
        }
    }
    drop(client);
    Ok(Some(server.meter().seconds()? - before))
}

/// What some commits took.
struct Cost {
    commits: u64,
    /// Microseconds of the server's processor time for each.
    processor_us: f64,
}

impl Trial<'_> {
    /// What a commit costs each of the two now.
    fn without_a_view(&mut self) -> Result<(f64, f64), Failure> {
        let ours = self.commits(&self.bench.ours, None, COMMITS_MAX)?;
        let peer = self.commits(&self.bench.peer, None, ours.commits)?;
        self.repeat(peer.commits, ours.commits)?;
        self.changed += ours.commits;
        Ok((ours.processor_us, peer.processor_us))
    }

    /// Gives what a commit costs in processor time beyond the same without the view, if that could be filled.
    fn operator(
        &mut self,
        report: &mut Report,
        name: &str,
        query: &str,
        simple: Option<f64>,
    ) -> Result<Option<f64>, Failure> {
        let (ours, peer) = (&self.bench.ours, &self.bench.peer);
        let rows = self.facts.rows;
        let what = format!("{name}, a group of {rows} rows");
        eprintln!("{what}");
        // Right before: other work of the machine changes what a commit costs.
        let (our_commit, peers_commit) = self.without_a_view()?;
        let Some(our_filling) = fill(ours, query)? else {
            let text = format!(
                "{what}: filling the view takes more than {FILLING_MAX_S} s of processor time: not measured further"
            );
            return report.note(&text).map(|()| None);
        };
        let Some(peers_filling) = fill(peer, query)? else { return Err("PostgreSQL does not fill its view".into()) };
        let cost = self.commits(ours, None, COMMITS_MAX)?;
        let refreshed = self.commits(peer, Some("REFRESH MATERIALIZED VIEW kept"), cost.commits)?;
        self.repeat(refreshed.commits, cost.commits)?;
        self.changed += cost.commits;
        peer.connect()?.batch_execute("REFRESH MATERIALIZED VIEW kept")?;
        let [kept, right] = [ours, peer].map(|server| Answer::of(&mut server.connect()?, "SELECT * FROM kept"));
        kept?.require(&right?).map_err(|failure| format!("a wrong view after {} commits: {failure}", cost.commits))?;
        let own = (cost.processor_us - our_commit).max(0.0);
        let refresh = (refreshed.processor_us - peers_commit).max(0.0);
        report.pair(
            &format!("{what}: processor time of keeping the view, a commit (PostgreSQL: REFRESH)"),
            "µs",
            own,
            refresh,
        )?;
        if let Some(simple) = simple.filter(|simple| *simple >= MEASURABLE_US) {
            report.single(&format!("{what}: a change, against {SIMPLE}"), "times", own / simple)?;
        }
        report.pair(
            &format!("{what}: processor time of filling the view"),
            "ms",
            our_filling * 1e3,
            peers_filling * 1e3,
        )?;
        Ok(Some(own))
    }

    /// Commits one row each for a while, with a statement after each if there is one; gives what that cost.
    fn commits(&self, server: &Server, after: Option<&str>, most: u64) -> Result<Cost, Failure> {
        let length = Duration::from_secs_f64(self.bench.options.seconds);
        let mut changes = Changes::new(server, &self.facts, self.changed)?;
        let mut client = server.connect()?;
        let before = server.meter().seconds()?;
        let started = Instant::now();
        let mut commits = 0;
        while commits < most && (commits < COMMITS_MIN.min(most) || started.elapsed() < length) {
            // A row that comes goes again in the same round.
            for _ in 0..Changes::ROUND {
                changes.one()?;
                if let Some(statement) = after {
                    client.batch_execute(statement)?;
                }
                commits += 1;
            }
        }
        let seconds = server.meter().seconds()? - before;
        Ok(Cost { commits, processor_us: seconds * 1e6 / commits as f64 })
    }

    /// Lets the peer catch up with commits that it was not measured with.
    fn repeat(&self, done: u64, wanted: u64) -> Result<(), Failure> {
        let mut changes = Changes::new(&self.bench.peer, &self.facts, self.changed + done)?;
        for _ in done..wanted {
            changes.one()?;
        }
        Ok(())
    }
}

const _: () = assert!(COMMITS_MIN.is_multiple_of(Changes::ROUND) && COMMITS_MAX.is_multiple_of(Changes::ROUND));
