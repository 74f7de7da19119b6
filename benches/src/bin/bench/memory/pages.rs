//! The views that the pages of Lobsters ask for, each with the columns that a page knows.

/// One of them.
pub struct Page {
    /// Of the view.
    pub name: &'static str,
    /// What it shows. An order that decides which rows are shown leaves nothing open: systems are compared by their rows.
    pub query: &'static str,
    /// By which columns the page asks, the keys first, then the order; none if the page shows the whole view.
    pub index: &'static str,
}

impl Page {
    /// The column whose value the page knows.
    pub fn key(&self) -> Option<&'static str> {
        self.index.split([',', ' ']).next().filter(|key| !key.is_empty())
    }
}

/// All of them, in the order of BENCHMARKS: story, front page, recent, user, comments, votes, notifications.
pub const PAGES: [Page; 14] = [
    Page {
        name: "merged_stories",
        query: "SELECT * FROM stories WHERE merged_story_id IS NOT NULL",
        index: "merged_story_id",
    },
    Page {
        name: "story_comments",
        query: "SELECT comments.*, upvotes - downvotes AS saldo FROM comments",
        index: "story_id, saldo DESC, confidence DESC",
    },
    Page { name: "comment_votes", query: "SELECT * FROM votes WHERE comment_id IS NOT NULL", index: "comment_id" },
    Page { name: "story_taggings", query: "SELECT * FROM taggings", index: "story_id" },
    Page {
        name: "front_page",
        query: "SELECT * FROM stories WHERE merged_story_id IS NULL AND is_expired = false AND upvotes - downvotes >= 0 ORDER BY hotness, id LIMIT 51",
        index: "",
    },
    Page {
        name: "recent",
        query: "SELECT * FROM stories WHERE merged_story_id IS NULL AND is_expired = false AND upvotes - downvotes <= 5 ORDER BY id DESC LIMIT 51",
        index: "",
    },
    Page { name: "suggested_titles_of", query: "SELECT * FROM suggested_titles", index: "story_id" },
    Page { name: "suggested_taggings_of", query: "SELECT * FROM suggested_taggings", index: "story_id" },
    Page {
        name: "top_tag",
        query: "SELECT DISTINCT ON (user_id) user_id, tag_id, tag, uses FROM \
            (SELECT s.user_id, t.id AS tag_id, t.tag, count(*) AS uses FROM taggings g JOIN tags t ON t.id = g.tag_id \
            JOIN stories s ON s.id = g.story_id WHERE NOT t.inactive GROUP BY s.user_id, t.id, t.tag) used \
            ORDER BY user_id, uses DESC, tag_id",
        index: "user_id",
    },
    Page {
        name: "latest_comments",
        query: "SELECT * FROM comments WHERE is_deleted = false AND is_moderated = false ORDER BY id DESC LIMIT 40",
        index: "",
    },
    Page { name: "story_by_id", query: "SELECT * FROM stories", index: "id" },
    Page {
        name: "story_tags",
        query: "SELECT g.story_id, t.* FROM taggings g JOIN tags t ON t.id = g.tag_id",
        index: "story_id",
    },
    Page {
        name: "comments_by_others",
        query: "SELECT c.story_id, c.id, c.upvotes, c.downvotes FROM comments c JOIN stories s ON s.id = c.story_id WHERE c.user_id <> s.user_id",
        index: "story_id",
    },
    Page {
        name: "notifications",
        query: "SELECT r.user_id, count(*) AS unread FROM read_ribbons r JOIN stories s ON s.id = r.story_id \
            JOIN comments c ON c.story_id = r.story_id LEFT JOIN comments p ON p.id = c.parent_comment_id \
            WHERE r.is_following AND c.user_id <> r.user_id AND NOT c.is_deleted AND NOT c.is_moderated \
            AND c.upvotes - c.downvotes >= 0 AND r.updated_at < c.created_at \
            AND (p.user_id = r.user_id OR (p.user_id IS NULL AND s.user_id = r.user_id)) GROUP BY r.user_id",
        index: "user_id",
    },
];
