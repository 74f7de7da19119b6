//! What one system's clients know of their own writes: what has been begun, and what has been acknowledged.
//!
//! A read must show everything that was acknowledged before it began, and nothing that had not begun when it ended.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use crate::discussion::data::Data;
use crate::discussion::session::Session;
use crate::server::Failure;

/// The counts of one system.
pub struct Tally {
    /// For each story of the beginning: comments begun, comments acknowledged.
    comments: Vec<(AtomicU32, AtomicU32)>,
    /// The newest comment that was acknowledged.
    newest: AtomicI64,
    votes: AtomicI64,
    stories: AtomicI64,
    all_comments: AtomicI64,
    users: AtomicI64,
}

/// Comments that a read of a story may show.
pub struct Expected {
    /// At least.
    least: u32,
    story: usize,
}

impl Tally {
    /// Of the data at the beginning.
    pub fn new(data: &Data) -> Tally {
        let of = |story| data.comments_of(story);
        Tally {
            comments: (0..=data.stories).map(|story| (AtomicU32::new(of(story)), AtomicU32::new(of(story)))).collect(),
            newest: AtomicI64::new(data.comments() as i64),
            votes: AtomicI64::new(data.votes() as i64),
            stories: AtomicI64::new(data.stories as i64),
            all_comments: AtomicI64::new(data.comments() as i64),
            users: AtomicI64::new(data.users as i64),
        }
    }

    /// Before a story's comments are read.
    pub fn expect(&self, story: u64) -> Expected {
        Expected { least: self.comments[story as usize].1.load(Ordering::SeqCst), story: story as usize }
    }

    /// After they were read.
    pub fn check(&self, expected: &Expected, comments: usize) -> Result<(), Failure> {
        let most = self.comments[expected.story].0.load(Ordering::SeqCst);
        if comments < expected.least as usize || comments > most as usize {
            return Err(format!(
                "story {} shows {comments} comments: {} were acknowledged, {most} begun",
                expected.story, expected.least
            )
            .into());
        }
        Ok(())
    }

    /// The newest comment that a page of the latest must show.
    pub fn newest(&self) -> i64 {
        self.newest.load(Ordering::SeqCst)
    }

    /// A comment on a story is about to be sent.
    pub fn comment_begins(&self, story: u64) {
        self.comments[story as usize].0.fetch_add(1, Ordering::SeqCst);
    }

    /// It was acknowledged.
    pub fn comment_done(&self, story: u64, comment: i64) {
        self.comments[story as usize].1.fetch_add(1, Ordering::SeqCst);
        self.newest.fetch_max(comment, Ordering::SeqCst);
        self.all_comments.fetch_add(1, Ordering::SeqCst);
    }

    /// A vote was acknowledged.
    pub fn voted(&self) {
        self.votes.fetch_add(1, Ordering::SeqCst);
    }

    /// A story was acknowledged.
    pub fn submitted(&self) {
        self.stories.fetch_add(1, Ordering::SeqCst);
    }

    /// A user was acknowledged.
    pub fn joined(&self) {
        self.users.fetch_add(1, Ordering::SeqCst);
    }

    /// At the end: does every table hold what was acknowledged, and do the counters of the stories agree?
    pub fn settle(&self, session: &mut Session) -> Result<(), Failure> {
        let told = [
            ("SELECT count(*) FROM votes", &self.votes),
            ("SELECT count(*) FROM comments", &self.all_comments),
            ("SELECT sum(comments_count) FROM stories", &self.all_comments),
            ("SELECT count(*) FROM stories", &self.stories),
            ("SELECT count(*) FROM users", &self.users),
        ];
        for (query, acknowledged) in told {
            let found = session.query(query, &[])?.first().ok_or("no row of a count")?.int(0)?;
            let acknowledged = acknowledged.load(Ordering::SeqCst);
            if found != acknowledged {
                return Err(format!("{query}: {found}, and {acknowledged} were acknowledged").into());
            }
        }
        Ok(())
    }
}
