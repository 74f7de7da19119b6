//! Where heads of the log are published: a file that grows by a line each, or a witness over HTTP.
//!
//! A witness is whoever the operator cannot make forget: an auditor's server, a log of transparency. It is sent the line by POST.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use ureq::Agent;

use crate::audit::published::HeadLine;

const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// See the module.
pub enum HeadTarget {
    /// It is made if it is not there, and never shortened.
    File(PathBuf),
    /// Answers with success once it keeps the head.
    Witness(String, Box<Agent>),
}

/// Why a head is not published.
#[derive(Debug)]
pub enum PublishError {
    /// The file does not take it.
    File(io::Error),
    /// The witness was not reached, or does not take it.
    Witness(Box<ureq::Error>),
}

impl std::fmt::Display for PublishError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PublishError::File(error) => write!(f, "could not write to the file: {error}"),
            PublishError::Witness(error) => write!(f, "the witness did not take it: {error}"),
        }
    }
}

impl std::error::Error for PublishError {}

impl HeadTarget {
    /// As an operator writes it: an address of HTTP, or a file.
    pub fn of(given: &str) -> HeadTarget {
        if !given.starts_with("http://") && !given.starts_with("https://") {
            return HeadTarget::File(given.into());
        }
        let agent = Agent::config_builder()
            .timeout_connect(Some(CONNECTS_WITHIN))
            .timeout_global(Some(ANSWERS_WITHIN))
            .build()
            .new_agent();
        HeadTarget::Witness(given.to_owned(), Box::new(agent))
    }

    /// Publishes a head; it is kept once this returns.
    pub fn publish(&self, head: &HeadLine) -> Result<(), PublishError> {
        match self {
            HeadTarget::File(path) => {
                let append = || {
                    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
                    file.write_all(head.text.as_bytes())?;
                    file.sync_all()
                };
                append().map_err(PublishError::File)
            }
            HeadTarget::Witness(url, agent) => {
                let request = agent.post(url).header("Content-Type", "application/json");
                let sent = request.send(head.text.as_bytes());
                sent.map(|_answer| ()).map_err(|error| PublishError::Witness(Box::new(error)))
            }
        }
    }
}
