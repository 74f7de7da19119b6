//! The rows of the discussion board: the same for every system, skewed as votes are: low numbers are the most active and the most read.

use std::collections::BTreeSet;

use crate::measure::{Random, Zipf};

/// Of authors, stories and comments.
pub const EXPONENT: f64 = 0.6;
/// Tags are as many at every scale.
pub const TAGS: u64 = 100;

/// A table's rows as lines of COPY.
pub struct Lines<'a> {
    /// The table and the columns that are given.
    pub table: &'static str,
    /// In their order.
    pub lines: Box<dyn Iterator<Item = String> + 'a>,
    /// Whether its keys come from a sequence, and how many are given.
    pub keys: Option<u64>,
}

struct Comment {
    story: u32,
    user: u32,
    /// Another comment of the same story, or 0.
    parent: u32,
    thread: u32,
}

struct Vote {
    user: u32,
    story: u32,
    /// 0 if it is on the story.
    comment: u32,
    up: bool,
}

/// Everything. Numbers of rows begin at 1, as the sequences' do.
pub struct Data {
    /// How many users.
    pub users: u64,
    /// How many stories.
    pub stories: u64,
    authors: Vec<u32>,
    comments: Vec<Comment>,
    votes: Vec<Vote>,
    story_votes: Vec<(u32, u32)>,
    comment_votes: Vec<(u32, u32)>,
    comments_of: Vec<u32>,
    scale: f64,
    times: u64,
    seed: u64,
}

/// A number in the letters of short names.
pub fn short(kind: &str, number: u64) -> String {
    let mut number = number;
    let mut letters = Vec::new();
    while number > 0 || letters.is_empty() {
        letters.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]));
        number /= 36;
    }
    let letters: String = letters.iter().rev().collect();
    format!("{kind}{letters:0>5}")
}

/// How hot a story is: the lower, the hotter. Newer stories are hotter, and voted ones.
pub fn hotness(upvotes: i64, downvotes: i64, age_part: f64) -> String {
    let score = (upvotes - downvotes).max(0) as f64;
    format!("{:.10}", -(score + 1.0).log10() - 2.0 * age_part)
}

/// How sure a comment's standing is.
pub fn confidence(upvotes: i64, downvotes: i64) -> String {
    format!("{:.12}", (upvotes + 1) as f64 / (upvotes + downvotes + 2).max(1) as f64)
}

const WORDS: &str =
    "It is said, and often by those who ought to know, that a database should know whose each of its rows is. ";

impl Data {
    /// So large a part of the paper's data, and all of it so many times: more people and stories, each with as much
    /// about it as before, so that a page is as long.
    pub fn new(scale: f64, times: u64, seed: u64) -> Data {
        let scaled = |paper: u64| ((paper as f64 * scale) as u64).max(10) * times;
        let mut random = Random::new(seed + 29);
        let (users, stories) = (scaled(15_000), scaled(100_000));
        let (people, topics) = (drawn(users, times), drawn(stories, times));
        let authors = (0..stories).map(|_| people.draw(&mut random) as u32 + 1).collect();
        let mut comments: Vec<Comment> = Vec::new();
        let mut last = vec![0_u32; stories as usize + 1];
        let mut comments_of = vec![0; stories as usize + 1];
        for id in 1..=scaled(313_000) as u32 {
            let story = topics.draw(&mut random) as u32 + 1;
            let parent = if random.below(2) == 0 { last[story as usize] } else { 0 };
            let thread = if parent == 0 { id } else { comments[parent as usize - 1].thread };
            comments.push(Comment { story, user: people.draw(&mut random) as u32 + 1, parent, thread });
            last[story as usize] = id;
            comments_of[story as usize] += 1;
        }
        let said = drawn(comments.len() as u64, times);
        let mut story_votes = vec![(0, 0); stories as usize + 1];
        let mut comment_votes = vec![(0, 0); comments.len() + 1];
        let mut votes = Vec::new();
        for _ in 0..scaled(416_000) {
            let user = people.draw(&mut random) as u32 + 1;
            let up = random.below(20) != 0;
            let (story, comment) = if random.below(5) < 2 {
                (topics.draw(&mut random) as u32 + 1, 0)
            } else {
                let comment = said.draw(&mut random) as u32 + 1;
                (comments[comment as usize - 1].story, comment)
            };
            let count =
                if comment == 0 { &mut story_votes[story as usize] } else { &mut comment_votes[comment as usize] };
            if up {
                count.0 += 1;
            } else {
                count.1 += 1;
            }
            votes.push(Vote { user, story, comment, up });
        }
        Data { users, stories, authors, comments, votes, story_votes, comment_votes, comments_of, scale, times, seed }
    }

    /// How often each of so many is drawn.
    pub fn drawn(&self, count: u64) -> Zipf {
        drawn(count, self.times)
    }

    /// How many comments.
    pub fn comments(&self) -> u64 {
        self.comments.len() as u64
    }

    /// How many votes.
    pub fn votes(&self) -> u64 {
        self.votes.len() as u64
    }

    /// The story of a comment.
    pub fn story_of(&self, comment: u64) -> u64 {
        u64::from(self.comments[comment as usize - 1].story)
    }

    /// How many comments a story has from the beginning.
    pub fn comments_of(&self, story: u64) -> u32 {
        self.comments_of[story as usize]
    }

    /// How far a story is from the oldest: 0 to 1, more if it was written in the run.
    pub fn age_part(&self, story: i64) -> f64 {
        story as f64 / self.stories as f64
    }

    /// What it is, in a line.
    pub fn told(&self) -> String {
        format!(
            "{} users, {} stories, {} comments, {} votes, Zipf {EXPONENT}",
            self.users,
            self.stories,
            self.comments(),
            self.votes()
        )
    }

    /// All tables, in an order in which references hold.
    pub fn tables<'a>(&'a self) -> Vec<Lines<'a>> {
        let mut all: Vec<Lines<'a>> = Vec::new();
        let mut add =
            |table, keys, lines: Box<dyn Iterator<Item = String> + 'a>| all.push(Lines { table, lines, keys });
        add(
            "tags (id, tag, description)",
            Some(TAGS),
            Box::new((1..=TAGS).map(|id| format!("{id}\ttag{id}\tAll about {id}"))),
        );
        let users = (1..=self.users).map(|id| {
            format!("{id}\tuser{id}\tuser{id}@example.org\t{}\tsession{id}\t10\tI am number {id}.", day(id, self.users))
        });
        add("users (id, username, email, created_at, session_token, karma, about)", Some(self.users), Box::new(users));
        let counters = (1..=self.users).flat_map(|id| {
            ["stories_submitted", "comments_posted", "unread_messages"]
                .map(|what| format!("user:{id}:{what}\t{}", id % 7))
        });
        add("keystores", None, Box::new(counters));
        let columns = "stories (id, created_at, user_id, url, title, description, short_id, upvotes, downvotes, hotness, comments_count, merged_story_id)";
        add(columns, Some(self.stories), Box::new(self.story_lines()));
        let columns = "comments (id, created_at, short_id, story_id, user_id, parent_comment_id, thread_id, comment, upvotes, downvotes, confidence)";
        add(columns, Some(self.comments()), Box::new(self.comment_lines()));
        let votes = self.votes.iter().zip(1_u64..).map(|(vote, id)| {
            let comment = if vote.comment == 0 { "\\N".into() } else { vote.comment.to_string() };
            format!("{id}\t{}\t{}\t{comment}\t{}", vote.user, vote.story, if vote.up { 1 } else { -1 })
        });
        add("votes (id, user_id, story_id, comment_id, vote)", Some(self.votes()), Box::new(votes));
        add("taggings (story_id, tag_id)", None, Box::new(self.tagging_lines().into_iter()));
        let pairs = |table, paper: f64, seed, values: fn(u64) -> String| {
            let lines = self.pairs(((paper * self.scale) as u64 + 1) * self.times, seed).into_iter().zip(1_u64..);
            Lines {
                table,
                lines: Box::new(lines.map(move |((user, other), id)| format!("{user}\t{other}{}", values(id)))),
                keys: None,
            }
        };
        all.push(pairs("hidden_stories (user_id, story_id)", 20_000.0, 37, |_| String::new()));
        all.push(pairs("saved_stories (user_id, story_id)", 20_000.0, 41, |_| String::new()));
        // Read last on some day of the twelve years.
        all.push(pairs("read_ribbons (user_id, story_id, updated_at)", 60_000.0, 43, |id| {
            format!("\t{}", day(id * 37 % 1_000, 1_000))
        }));
        all.push(pairs("suggested_titles (user_id, story_id, title)", 2_000.0, 47, |id| {
            format!("\tA better title {id}")
        }));
        all.push(pairs("suggested_taggings (user_id, story_id, tag_id)", 1_000.0, 53, |id| {
            format!("\t{}", id % TAGS + 1)
        }));
        let filters = (1..=self.users / 3).map(|user| format!("{}\t{}", user * 3, user % TAGS + 1));
        all.push(Lines { table: "tag_filters (user_id, tag_id)", lines: Box::new(filters), keys: None });
        let hats = (1..=self.users / 50).map(|user| format!("{}\t1\tDeveloper", user * 50));
        all.push(Lines { table: "hats (user_id, granted_by_user_id, hat)", lines: Box::new(hats), keys: None });
        all
    }

    fn story_lines(&self) -> impl Iterator<Item = String> {
        (1..=self.stories).map(move |id| {
            let (up, down) = self.story_votes[id as usize];
            let hotness = hotness(i64::from(up), i64::from(down), self.age_part(id as i64));
            let merged = if id % 97 == 0 { (id / 97).to_string() } else { "\\N".into() };
            format!(
                "{id}\t{}\t{}\thttps://example.org/{id}\tStory of the number {id}\t{WORDS}\t{}\t{up}\t{down}\t{hotness}\t{}\t{merged}",
                day(id, self.stories),
                self.authors[id as usize - 1],
                short("s", id),
                self.comments_of[id as usize],
            )
        })
    }

    fn comment_lines(&self) -> impl Iterator<Item = String> {
        self.comments.iter().zip(1_u64..).map(move |(comment, id)| {
            let (up, down) = self.comment_votes[id as usize];
            let parent = if comment.parent == 0 { "\\N".into() } else { comment.parent.to_string() };
            format!(
                "{id}\t{}\t{}\t{}\t{}\t{parent}\t{}\tComment {id}: {WORDS}\t{up}\t{down}\t{}",
                day(id, self.comments()),
                short("c", id),
                comment.story,
                comment.user,
                comment.thread,
                confidence(i64::from(up), i64::from(down)),
            )
        })
    }

    /// One or two for each story.
    fn tagging_lines(&self) -> Vec<String> {
        let mut random = Random::new(self.seed + 31);
        let tags = Zipf::new(TAGS, EXPONENT);
        (1..=self.stories)
            .flat_map(|story| {
                let first = tags.draw(&mut random) + 1;
                let second = (random.below(2) == 0).then(|| (first % TAGS) + 1);
                [Some(first), second].into_iter().flatten().map(move |tag| format!("{story}\t{tag}"))
            })
            .collect()
    }

    /// Different pairs of a user and a story.
    fn pairs(&self, count: u64, seed: u64) -> BTreeSet<(u64, u64)> {
        let mut random = Random::new(self.seed + seed);
        let (people, topics) = (self.drawn(self.users), self.drawn(self.stories));
        (0..count).map(|_| (people.draw(&mut random) + 1, topics.draw(&mut random) + 1)).collect()
    }
}

/// How often each of so many is drawn: of `times` that follow each other each as often.
fn drawn(count: u64, times: u64) -> Zipf {
    Zipf::of_alike(count, EXPONENT, times)
}

/// When the `id`-th of so many was written: some time in twelve years.
fn day(id: u64, of: u64) -> String {
    let days = id * 12 * 336 / (of + 1);
    let minutes = id * 7 % 1_440;
    format!(
        "{}-{:02}-{:02} {:02}:{:02}:00",
        2012 + days / 336,
        days / 28 % 12 + 1,
        days % 28 + 1,
        minutes / 60,
        minutes % 60
    )
}
