//! Maintained views: one dataflow each, kept by view workers, each component of them in commit order.
//!
//! ```text
//! worker         a thread: groups, hydration, failures           dataflow       one view, rendered
//! inspection     what dataflows hold and took                    maintained     a view as the thread keeps it
//! component      views tied to each other, and what waits        driver         the timely worker of one view
//! publication    states of leaves and views, by frontiers        hydrate        filling a view in chunks
//! subscription   who watches, and how changes reach them         message        what the thread is told
//! automatic      views that queries earn, by their parameters    bound          first rows of keys that have many
//! read           answering a query from published batches        no_view        why a query is not
//! sources        what became of what a view reads                history        changes to go on from
//! ordered_index  value → row key, for ranges of personal tables  cached_reader  what filling a view has looked up
//! placement      which worker keeps which view                   shared_scan    tables read once for views that are filled
//! deferral       what views may follow later, as one
//! ```
//!
//! Base tables are never copied here: chains look them up in the leaves (`operators::delta`), and only what
//! cannot be looked up is arranged. Publication is one pointer with the leaves of the same commit.

pub mod automatic;
pub mod bound;
pub mod cached_reader;
pub mod component;
pub mod dataflow;
pub mod deferral;
pub mod driver;
pub mod history;
pub mod hydrate;
pub mod inspection;
pub mod maintained;
pub mod message;
pub mod no_view;
pub mod ordered_index;
pub mod placement;
pub mod publication;
pub mod read;
pub mod shared_scan;
pub mod sources;
pub mod subscription;
pub mod worker;
