//! The pages of the discussion board: which statements each of them sends, and what their answers must be.
//!
//! The statements are those of the application, shortened to the columns that matter; each commits by itself.

use crate::discussion::data::{Data, confidence, hotness, short};
use crate::discussion::session::{Both, Row, Session, is_duplicate};
use crate::discussion::tally::Tally;
use crate::mariadb::Cell;
use crate::server::Failure;

/// What a visitor asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// A story with its comments.
    Story,
    /// The hottest stories.
    Frontpage,
    /// A user's page.
    User,
    /// The latest comments.
    Comments,
    /// The latest stories that few voted for.
    Recent,
    /// Up.
    CommentUpvote,
    /// Up.
    StoryUpvote,
    /// A comment on a story.
    Comment,
    /// Who is it?
    Login,
    /// A comment on a comment.
    Reply,
    /// Down.
    CommentDownvote,
    /// A new story.
    Submit,
    /// Down.
    StoryDownvote,
    /// Goodbye.
    Logout,
}

/// Each page, its name, and how many of 100,000 visits it gets.
pub const PAGES: [(Page, &str, u64); 14] = [
    (Page::Story, "story", 55_842),
    (Page::Frontpage, "frontpage", 30_105),
    (Page::User, "user", 6_702),
    (Page::Comments, "comments", 4_674),
    (Page::Recent, "recent", 967),
    (Page::CommentUpvote, "comment upvote", 630),
    (Page::StoryUpvote, "story upvote", 475),
    (Page::Comment, "comment", 316),
    (Page::Login, "login", 87),
    (Page::Reply, "reply", 71),
    (Page::CommentDownvote, "comment downvote", 54),
    (Page::Submit, "submit", 53),
    (Page::StoryDownvote, "story downvote", 21),
    (Page::Logout, "logout", 3),
];

/// One visit: who asks for what. `unique` differs between all visits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Which page.
    pub page: Page,
    /// Who.
    pub user: u64,
    /// Which story, if the page is about one.
    pub story: u64,
    /// Which comment, if the page is about one.
    pub comment: u64,
    /// Which user's page, or which tag.
    pub other: u64,
    /// For new names.
    pub unique: u64,
}

const USER: &str = "SELECT id, username, karma, about, is_moderator, settings, created_at FROM users WHERE id = $1";
const USER_BY_NAME: &str =
    "SELECT id, username, karma, about, is_moderator, settings, created_at FROM users WHERE username = $1";
const USERS: &str = "SELECT id, username, karma FROM users WHERE id IN ($list)";
const STORY: &str = "SELECT id, user_id, upvotes, downvotes, short_id, title, url, description, merged_story_id, comments_count, created_at \
    FROM stories WHERE short_id = $1";
const STORY_BY_ID: &str = "SELECT id, user_id, upvotes, downvotes, short_id, title, url, description, merged_story_id, comments_count, created_at \
    FROM stories WHERE id = $1";
const STORIES: &str = "SELECT id, user_id, short_id, title FROM stories WHERE id IN ($list)";
const MERGED: &str = "SELECT merged_story_id, id, short_id, title FROM stories WHERE merged_story_id = $1";
const COMMENTS: &str = "SELECT id, story_id, user_id, short_id, parent_comment_id, thread_id, comment, upvotes - downvotes AS saldo, created_at \
    FROM comments WHERE story_id = $1 ORDER BY saldo DESC, confidence DESC";
const COMMENT: &str = "SELECT id, story_id, user_id, upvotes, downvotes, thread_id FROM comments WHERE short_id = $1";
const RIBBON: &str = "SELECT id, story_id FROM read_ribbons WHERE user_id = $1 AND story_id = $2";
const NEW_RIBBON: &str = "INSERT INTO read_ribbons (user_id, story_id) VALUES ($1, $2)";
const READ_AGAIN: &str = "UPDATE read_ribbons SET updated_at = now() WHERE id = $1";
const VOTES: &str = "SELECT comment_id, user_id, vote FROM votes WHERE comment_id IN ($list)";
const VOTE_ON_STORY: &str = "SELECT id, vote FROM votes WHERE user_id = $1 AND story_id = $2 AND comment_id IS NULL";
const VOTE_ON_COMMENT: &str = "SELECT id, vote FROM votes WHERE user_id = $1 AND story_id = $2 AND comment_id = $3";
const HIDDEN: &str = "SELECT id FROM hidden_stories WHERE user_id = $1 AND story_id = $2";
const SAVED: &str = "SELECT id FROM saved_stories WHERE user_id = $1 AND story_id = $2";
const TAGGINGS: &str = "SELECT story_id, tag_id FROM taggings WHERE story_id IN ($list)";
const TAGS: &str = "SELECT id, tag, is_media FROM tags WHERE id IN ($list)";
const FRONTPAGE: &str = "SELECT id, user_id, upvotes, downvotes, short_id, title, url, comments_count, created_at FROM stories \
    WHERE merged_story_id IS NULL AND is_expired = false AND upvotes - downvotes >= 0 ORDER BY hotness LIMIT 51";
const RECENT: &str = "SELECT id, user_id, upvotes, downvotes, short_id, title, url, comments_count, created_at FROM stories \
    WHERE merged_story_id IS NULL AND is_expired = false AND upvotes - downvotes <= 5 ORDER BY id DESC LIMIT 51";
const HIDDEN_BY: &str = "SELECT story_id FROM hidden_stories WHERE user_id = $1";
const FILTERS: &str = "SELECT tag_id FROM tag_filters WHERE user_id = $1";
const SUGGESTED_TITLES: &str = "SELECT story_id, id, title FROM suggested_titles WHERE story_id IN ($list)";
const SUGGESTED_TAGGINGS: &str = "SELECT story_id, tag_id FROM suggested_taggings WHERE story_id IN ($list)";
const VOTES_BY: &str =
    "SELECT story_id, vote FROM votes WHERE user_id = $1 AND comment_id IS NULL AND story_id IN ($list)";
const HIDDEN_OF: &str = "SELECT story_id FROM hidden_stories WHERE user_id = $1 AND story_id IN ($list)";
const SAVED_OF: &str = "SELECT story_id FROM saved_stories WHERE user_id = $1 AND story_id IN ($list)";
const TOP_TAG: &str = "SELECT tags.id, count(*) AS count FROM taggings JOIN tags ON taggings.tag_id = tags.id JOIN stories ON stories.id = taggings.story_id \
    WHERE tags.inactive = false AND stories.user_id = $1 GROUP BY tags.id ORDER BY count DESC, tags.id LIMIT 1";
const COUNTER: &str = "SELECT value FROM keystores WHERE \"key\" = $1";
const HATS: &str = "SELECT id, user_id FROM hats WHERE user_id = $1 LIMIT 1";
const LATEST: &str = "SELECT id, story_id, user_id, short_id, comment, upvotes, downvotes, created_at FROM comments \
    WHERE is_deleted = false AND is_moderated = false ORDER BY id DESC LIMIT 40";
const COMMENT_VOTES_BY: &str = "SELECT comment_id, vote FROM votes WHERE user_id = $1 AND comment_id IN ($list)";
const NEW_VOTE: &str = "INSERT INTO votes (user_id, story_id, comment_id, vote) VALUES ($1, $2, $3, $4)";
const KARMA: &str = "UPDATE users SET karma = karma + $1 WHERE id = $2";
const TAGS_OF: &str = "SELECT tags.id, tags.hotness_mod FROM tags JOIN taggings ON taggings.tag_id = tags.id WHERE taggings.story_id = $1";
const BY_OTHERS: &str = "SELECT comments.upvotes, comments.downvotes FROM comments JOIN stories ON stories.id = comments.story_id \
    WHERE comments.story_id = $1 AND comments.user_id <> stories.user_id";
const STORY_VOTED: &str =
    "UPDATE stories SET upvotes = upvotes + $1, downvotes = downvotes + $2, hotness = $3 WHERE id = $4";
const COMMENT_VOTED: &str =
    "UPDATE comments SET upvotes = upvotes + $1, downvotes = downvotes + $2, confidence = $3 WHERE id = $4";
const HOTTER: &str = "UPDATE stories SET hotness = $1 WHERE id = $2";
const COMMENTED: &str = "UPDATE stories SET comments_count = comments_count + 1, hotness = $1 WHERE id = $2";
const NEW_COMMENT: &str = "INSERT INTO comments (short_id, story_id, user_id, parent_comment_id, thread_id, comment, upvotes, confidence) \
    VALUES ($1, $2, $3, $4, $5, $6, 1, $7) RETURNING id";
const TAG: &str = "SELECT id FROM tags WHERE tag = $1 AND inactive = false";
const NEW_STORY: &str = "INSERT INTO stories (short_id, user_id, url, title, description, upvotes, hotness) VALUES ($1, $2, $3, $4, $5, 1, $6) RETURNING id";
const NEW_TAGGING: &str = "INSERT INTO taggings (story_id, tag_id) VALUES ($1, $2)";
const NEW_USER: &str = "INSERT INTO users (username, email) VALUES ($1, $2)";
const COUNT_ONE: Both = Both {
    wire: "INSERT INTO keystores (\"key\", value) VALUES ($1, 1) ON CONFLICT (\"key\") DO UPDATE SET value = keystores.value + 1",
    maria: "INSERT INTO keystores (\"key\", value) VALUES ($1, 1) ON DUPLICATE KEY UPDATE value = value + 1",
};
const NOTIFICATIONS: &str = "SELECT count(*) FROM read_ribbons \
    JOIN stories ON stories.id = read_ribbons.story_id \
    JOIN comments ON comments.story_id = read_ribbons.story_id \
    LEFT JOIN comments AS parents ON parents.id = comments.parent_comment_id \
    WHERE read_ribbons.user_id = $1 AND read_ribbons.is_following = true \
    AND comments.user_id <> read_ribbons.user_id AND comments.is_deleted = false AND comments.is_moderated = false \
    AND (parents.user_id = read_ribbons.user_id OR (parents.user_id IS NULL AND stories.user_id = read_ribbons.user_id)) \
    AND comments.upvotes - comments.downvotes >= 0 AND (parents.id IS NULL OR parents.upvotes - parents.downvotes >= 0) \
    AND read_ribbons.updated_at < comments.created_at";

/// Serves visits on one connection.
pub struct Visitor<'a> {
    /// The connection.
    pub session: &'a mut Session,
    /// What was there at the beginning.
    pub data: &'a Data,
    /// What this system has acknowledged.
    pub tally: &'a Tally,
}

fn int(number: u64) -> Cell {
    Cell::Int(number as i64)
}

fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// The different numbers of a column, in order.
fn column(rows: &[Row], column: usize) -> Result<Vec<i64>, Failure> {
    let mut numbers = rows.iter().filter_map(|row| row.optional(column).transpose()).collect::<Result<Vec<_>, _>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Do all rows belong to what was asked for?
fn within(rows: &[Row], asked: &[i64], what: &str) -> Result<(), Failure> {
    for row in rows {
        let found = row.int(0)?;
        if asked.binary_search(&found).is_err() {
            return Err(format!("{what}: a row of {found}, which was not asked for").into());
        }
    }
    Ok(())
}

fn the_one(mut rows: Vec<Row>, what: &str) -> Result<Row, Failure> {
    match (rows.pop(), rows.len()) {
        (Some(row), 0) => Ok(row),
        (_, others) => Err(format!("{what}: {} rows instead of one", others + 1).into()),
    }
}

impl Visitor<'_> {
    /// All statements of a page, one after the other, with their answers checked.
    pub fn serve(&mut self, visit: &Visit) -> Result<(), Failure> {
        match visit.page {
            Page::Story => self.story(visit)?,
            Page::Frontpage => self.stories(visit, FRONTPAGE)?,
            Page::Recent => self.stories(visit, RECENT)?,
            Page::User => self.user(visit)?,
            Page::Comments => self.comments(visit)?,
            Page::StoryUpvote => return self.vote_on_story(visit, 1),
            Page::StoryDownvote => return self.vote_on_story(visit, -1),
            Page::CommentUpvote => return self.vote_on_comment(visit, 1),
            Page::CommentDownvote => return self.vote_on_comment(visit, -1),
            Page::Comment => return self.comment(visit, false),
            Page::Reply => return self.comment(visit, true),
            Page::Submit => return self.submit(visit),
            Page::Login => return self.login(visit),
            Page::Logout => return self.session.query(USER, &[int(visit.user)]).map(drop),
        }
        self.notifications(visit)
    }

    fn notifications(&mut self, visit: &Visit) -> Result<(), Failure> {
        the_one(self.session.query(NOTIFICATIONS, &[int(visit.user)])?, "notifications")?.int(0)?;
        self.session.query(COUNTER, &[text(format!("user:{}:unread_messages", visit.user))])?;
        Ok(())
    }

    fn the_story(&mut self, story: u64) -> Result<Row, Failure> {
        let row = the_one(self.session.query(STORY, &[text(short("s", story))])?, "story by its short name")?;
        if row.int(0)? != story as i64 {
            return Err(format!("story {} instead of {story}", row.int(0)?).into());
        }
        Ok(row)
    }

    /// The comments of a story, as many as have been acknowledged.
    fn comments_of(&mut self, story: u64) -> Result<Vec<Row>, Failure> {
        let expected = self.tally.expect(story);
        let rows = self.session.query(COMMENTS, &[int(story)])?;
        self.tally.check(&expected, rows.len())?;
        if column(&rows, 1)?.iter().any(|&of| of != story as i64) {
            return Err(format!("comments of other stories than {story}").into());
        }
        Ok(rows)
    }

    fn users(&mut self, users: &[i64]) -> Result<(), Failure> {
        let rows = self.session.query_list(USERS, &[], users)?;
        if column(&rows, 0)? != users {
            return Err(format!("{} users of {}", rows.len(), users.len()).into());
        }
        for row in &rows {
            let name = row.text(1)?;
            if name.starts_with("user") && name != format!("user{}", row.int(0)?) {
                return Err(format!("user {} is called {name}", row.int(0)?).into());
            }
        }
        Ok(())
    }

    /// Tags of stories.
    fn tags(&mut self, stories: &[i64]) -> Result<(), Failure> {
        let taggings = self.session.query_list(TAGGINGS, &[], stories)?;
        within(&taggings, stories, "taggings")?;
        let tags = column(&taggings, 1)?;
        let rows = self.session.query_list(TAGS, &[], &tags)?;
        if rows.len() == tags.len() { Ok(()) } else { Err("not every tag is there".into()) }
    }

    fn story(&mut self, visit: &Visit) -> Result<(), Failure> {
        let (user, story) = (int(visit.user), int(visit.story));
        let row = self.the_story(visit.story)?;
        the_one(self.session.query(USER, &[Cell::Int(row.int(1)?)])?, "the author")?;
        match self.session.query(RIBBON, &[user.clone(), story.clone()])?.first() {
            Some(ribbon) => {
                if self.session.execute(READ_AGAIN, &[Cell::Int(ribbon.int(0)?)])? != 1 {
                    return Err("a ribbon that was there is not there".into());
                }
            }
            // Somebody may open the same page twice at once.
            None => match self.session.execute(NEW_RIBBON, &[user.clone(), story.clone()]) {
                Err(failure) if !is_duplicate(&failure) => return Err(failure),
                _ => {}
            },
        }
        let merged = self.session.query(MERGED, std::slice::from_ref(&story))?;
        within(&merged, &[visit.story as i64], "merged stories")?;
        let comments = self.comments_of(visit.story)?;
        self.users(&column(&comments, 2)?)?;
        let shown = column(&comments, 0)?;
        let votes = self.session.query_list(VOTES, &[], &shown)?;
        within(&votes, &shown, "votes on comments")?;
        for query in [VOTE_ON_STORY, HIDDEN, SAVED] {
            self.session.query(query, &[user.clone(), story.clone()])?;
        }
        self.tags(&[visit.story as i64])
    }

    fn stories(&mut self, visit: &Visit, query: &'static str) -> Result<(), Failure> {
        let user = [int(visit.user)];
        let rows = self.session.query(query, &[])?;
        if rows.len() != 51 {
            return Err(format!("a page of {} stories", rows.len()).into());
        }
        for pair in rows.windows(2) {
            let scores = [pair[0].int(2)? - pair[0].int(3)?, pair[1].int(2)? - pair[1].int(3)?];
            let right = match visit.page {
                Page::Recent => pair[0].int(0)? > pair[1].int(0)? && scores.iter().all(|score| *score <= 5),
                _ => scores.iter().all(|score| *score >= 0),
            };
            if !right {
                return Err("stories that should not stand there".into());
            }
        }
        self.session.query(HIDDEN_BY, &user)?;
        self.session.query(FILTERS, &user)?;
        self.users(&column(&rows, 1)?)?;
        let shown = column(&rows, 0)?;
        for query in [SUGGESTED_TITLES, SUGGESTED_TAGGINGS] {
            within(&self.session.query_list(query, &[], &shown)?, &shown, "suggestions")?;
        }
        self.tags(&shown)?;
        for query in [VOTES_BY, HIDDEN_OF, SAVED_OF] {
            within(&self.session.query_list(query, &user, &shown)?, &shown, "what a user did to stories")?;
        }
        Ok(())
    }

    fn user(&mut self, visit: &Visit) -> Result<(), Failure> {
        let name = format!("user{}", visit.other);
        let row = the_one(self.session.query(USER_BY_NAME, &[text(&name)])?, "user by name")?;
        if row.int(0)? != visit.other as i64 || row.text(1)? != name {
            return Err(format!("another user than {name}").into());
        }
        let user = int(visit.other);
        self.session.query(TOP_TAG, std::slice::from_ref(&user))?;
        for what in ["stories_submitted", "comments_posted"] {
            let key = text(format!("user:{}:{what}", visit.other));
            the_one(self.session.query(COUNTER, &[key])?, what)?.int(0)?;
        }
        self.session.query(HATS, &[user])?;
        Ok(())
    }

    fn comments(&mut self, visit: &Visit) -> Result<(), Failure> {
        let user = [int(visit.user)];
        let newest = self.tally.newest();
        let rows = self.session.query(LATEST, &[])?;
        let first = rows.first().map_or(Ok(0), |row| row.int(0))?;
        if rows.len() != 40 || first < newest {
            return Err(format!("{} comments from {first} on, and {newest} was acknowledged", rows.len()).into());
        }
        self.session.query(HIDDEN_BY, &user)?;
        self.users(&column(&rows, 2)?)?;
        let stories = column(&rows, 1)?;
        let found = self.session.query_list(STORIES, &[], &stories)?;
        if column(&found, 0)? != stories {
            return Err("not every story of the comments is there".into());
        }
        let shown = column(&rows, 0)?;
        within(&self.session.query_list(COMMENT_VOTES_BY, &user, &shown)?, &shown, "a user's votes on comments")
    }

    /// How hot the story is now: merged stories, tags and what others said count.
    fn heat(&mut self, story: i64, upvotes: i64, downvotes: i64) -> Result<Cell, Failure> {
        let asked = [Cell::Int(story)];
        let tags = self.session.query(TAGS_OF, &asked)?;
        let others = self.session.query(BY_OTHERS, &asked)?;
        self.session.query(MERGED, &asked)?;
        if tags.is_empty() {
            return Err(format!("story {story} has no tag").into());
        }
        let mut said = 0;
        for row in &others {
            said += (row.int(0)? - row.int(1)?).clamp(0, 1);
        }
        Ok(text(hotness(upvotes + said / 10, downvotes, self.data.age_part(story))))
    }

    fn vote(&mut self, parameters: &[Cell]) -> Result<(), Failure> {
        if self.session.execute(NEW_VOTE, parameters)? != 1 {
            return Err("a vote that was not taken".into());
        }
        self.tally.voted();
        Ok(())
    }

    fn one(&mut self, query: &'static str, parameters: &[Cell]) -> Result<(), Failure> {
        match self.session.execute(query, parameters)? {
            1 => Ok(()),
            other => Err(format!("{query}: {other} rows instead of one").into()),
        }
    }

    fn vote_on_story(&mut self, visit: &Visit, vote: i64) -> Result<(), Failure> {
        let (user, story) = (int(visit.user), int(visit.story));
        let row = self.the_story(visit.story)?;
        if !self.session.query(VOTE_ON_STORY, &[user.clone(), story.clone()])?.is_empty() {
            return Ok(());
        }
        self.vote(&[user, story.clone(), Cell::Null, Cell::Int(vote)])?;
        self.one(KARMA, &[Cell::Int(vote), Cell::Int(row.int(1)?)])?;
        let (up, down) = (i64::from(vote > 0), i64::from(vote < 0));
        let heat = self.heat(visit.story as i64, row.int(2)? + up, row.int(3)? + down)?;
        self.one(STORY_VOTED, &[Cell::Int(up), Cell::Int(down), heat, story])
    }

    fn vote_on_comment(&mut self, visit: &Visit, vote: i64) -> Result<(), Failure> {
        let user = int(visit.user);
        let row = the_one(self.session.query(COMMENT, &[text(short("c", visit.comment))])?, "comment")?;
        let (comment, story) = (row.int(0)?, row.int(1)?);
        if comment != visit.comment as i64 || story != self.data.story_of(visit.comment) as i64 {
            return Err(format!("comment {comment} of story {story} instead of {}", visit.comment).into());
        }
        let parameters = [user.clone(), Cell::Int(story), Cell::Int(comment)];
        if !self.session.query(VOTE_ON_COMMENT, &parameters)?.is_empty() {
            return Ok(());
        }
        self.vote(&[user, Cell::Int(story), Cell::Int(comment), Cell::Int(vote)])?;
        self.one(KARMA, &[Cell::Int(vote), Cell::Int(row.int(2)?)])?;
        let (up, down) = (i64::from(vote > 0), i64::from(vote < 0));
        let sure = text(confidence(row.int(3)? + up, row.int(4)? + down));
        self.one(COMMENT_VOTED, &[Cell::Int(up), Cell::Int(down), sure, Cell::Int(comment)])?;
        let row = the_one(self.session.query(STORY_BY_ID, &[Cell::Int(story)])?, "story by number")?;
        let heat = self.heat(story, row.int(2)?, row.int(3)?)?;
        self.one(HOTTER, &[heat, Cell::Int(story)])
    }

    fn comment(&mut self, visit: &Visit, is_reply: bool) -> Result<(), Failure> {
        let story = if is_reply { self.data.story_of(visit.comment) } else { visit.story };
        let row = self.the_story(story)?;
        the_one(self.session.query(USER, &[int(visit.user)])?, "who comments")?;
        let (mut parent, mut thread) = (Cell::Null, Cell::Null);
        if is_reply {
            let row = the_one(self.session.query(COMMENT, &[text(short("c", visit.comment))])?, "the parent")?;
            (parent, thread) = (Cell::Int(row.int(0)?), Cell::Int(row.int(5)?));
        }
        let said = text(format!("A word on this, the {}th.", visit.unique));
        let name = text(short("n", visit.unique));
        self.tally.comment_begins(story);
        let sure = text(confidence(1, 0));
        let inserted =
            self.session.query(NEW_COMMENT, &[name, int(story), int(visit.user), parent, thread, said, sure])?;
        let comment = the_one(inserted, "a new comment")?.int(0)?;
        self.tally.comment_done(story, comment);
        self.vote(&[int(visit.user), int(story), Cell::Int(comment), Cell::Int(1)])?;
        self.comments_of(story)?;
        let heat = self.heat(story as i64, row.int(2)?, row.int(3)?)?;
        self.one(COMMENTED, &[heat, int(story)])?;
        self.session.execute_either(&COUNT_ONE, &[text(format!("user:{}:comments_posted", visit.user))]).map(drop)
    }

    fn submit(&mut self, visit: &Visit) -> Result<(), Failure> {
        let tag = the_one(self.session.query(TAG, &[text(format!("tag{}", visit.other))])?, "tag by name")?.int(0)?;
        let name = short("n", visit.unique);
        if !self.session.query(STORY, &[text(&name)])?.is_empty() {
            return Err(format!("the short name {name} is not free").into());
        }
        let words =
            [name.clone(), format!("https://example.org/{name}"), format!("Story {name}"), "Something new.".into()];
        let [name, url, title, description] = words.map(Cell::Text);
        let heat = text(hotness(1, 0, 1.0 + visit.unique as f64 / 1e9));
        let inserted = self.session.query(NEW_STORY, &[name, int(visit.user), url, title, description, heat])?;
        let story = the_one(inserted, "a new story")?.int(0)?;
        self.tally.submitted();
        self.one(NEW_TAGGING, &[Cell::Int(story), Cell::Int(tag)])?;
        self.vote(&[int(visit.user), Cell::Int(story), Cell::Null, Cell::Int(1)])?;
        self.session.execute_either(&COUNT_ONE, &[text(format!("user:{}:stories_submitted", visit.user))]).map(drop)
    }

    /// Every tenth who logs in is new.
    fn login(&mut self, visit: &Visit) -> Result<(), Failure> {
        let is_new = visit.unique.is_multiple_of(10);
        let name = if is_new { format!("new{}", visit.unique) } else { format!("user{}", visit.user) };
        let found = self.session.query(USER_BY_NAME, &[text(&name)])?;
        if found.is_empty() != is_new {
            return Err(format!("{} users of the name {name}", found.len()).into());
        }
        if is_new {
            self.one(NEW_USER, &[text(&name), text(format!("{name}@example.org"))])?;
            self.tally.joined();
        }
        Ok(())
    }
}
