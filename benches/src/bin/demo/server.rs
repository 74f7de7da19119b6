//! The server as the demo runs it: the program `dogwood` beside this one, on a folder of its own and a free port.
//!
//! Never outlives the demo.

use crate::failure::Failure;
use postgres::error::DbError;
use postgres::{Client, Config, NoTls};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::Sender;

/// A running server.
pub struct Server {
    process: Child,
    port: u16,
    data: PathBuf,
}

impl Server {
    /// Starts the server on a data folder, with these options, and waits until it listens.
    pub fn start(data: &Path, options: &[&str]) -> Result<Server, Failure> {
        let mut process = Command::new(program()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--insecure", "--log-level", "warning", "--data"])
            .arg(data)
            .args(options)
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().expect("the output is piped");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port =
            line.trim().strip_prefix("listening on ").and_then(|address| address.rsplit(':').next()?.parse().ok());
        let Some(port) = port else {
            let _ = process.kill();
            return Err(Failure::Claim(format!("the server did not start: it said \"{}\"", line.trim())));
        };
        Ok(Server { process, port, data: data.to_path_buf() })
    }

    /// Connects as the controller; what the server notes goes to `notices`.
    pub fn connect(&self, notices: Sender<DbError>) -> Result<Client, Failure> {
        self.connect_with(&self.data, notices)
    }

    /// The same, with the password that stands in a folder.
    pub fn connect_with(&self, folder: &Path, notices: Sender<DbError>) -> Result<Client, Failure> {
        let secret = fs::read_to_string(folder.join("controller.secret"))?;
        self.connect_as("controller", secret.trim(), notices)
    }

    /// The same, with somebody else's login.
    pub fn connect_as(&self, user: &str, password: &str, notices: Sender<DbError>) -> Result<Client, Failure> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user(user).password(password).dbname("postgres");
        // Nobody listening any more is no reason to fail.
        config.notice_callback(move |notice| drop(notices.send(notice)));
        Ok(config.connect(NoTls)?)
    }

    /// Ends the server without a word of warning, as a power cut would.
    pub fn kill(mut self) -> Result<(), Failure> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Asks the server to stop, and waits for it.
    pub fn stop(mut self) -> Result<(), Failure> {
        // The shell's own `kill`: a small machine has no program of that name.
        let asked = Command::new("sh").args(["-c", &format!("kill -TERM {}", self.process.id())]).status()?;
        let status = self.process.wait()?;
        if asked.success() && status.success() {
            Ok(())
        } else {
            Err(Failure::Claim(format!("the server did not stop in order: {status}")))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already ended in the ordinary course; then both are refused, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs another command of the program and waits for its answer.
pub fn run(arguments: &[&str]) -> Result<Output, Failure> {
    Ok(Command::new(program()?).args(arguments).output()?)
}

/// Runs another command of the program beside what comes.
pub fn begin(arguments: &[&str]) -> Result<Child, Failure> {
    let piped = || Stdio::piped();
    Ok(Command::new(program()?).args(arguments).stdout(piped()).stderr(piped()).spawn()?)
}

fn program() -> Result<PathBuf, Failure> {
    if let Some(program) = std::env::var_os("DOGWOOD") {
        return Ok(program.into());
    }
    Ok(std::env::current_exe()?.with_file_name("dogwood"))
}
