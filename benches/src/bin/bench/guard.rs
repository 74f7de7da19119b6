//! What outlives this program if it is interrupted: a shell that knows every server started here and the folder, and nothing else.
//!
//! It reads from a pipe. When the pipe closes without a word of farewell (Ctrl-C, a kill, a panic), it stops the servers by their
//! numbers and removes the folder. It must never touch a process that it was not told of.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::server::Failure;

const SCRIPT: &str = r#"
trap '' INT TERM HUP PIPE
running=
while read -r word number; do
    case $word in
        started) running="$running $number" ;;
        ended) others=; for one in $running; do [ "$one" = "$number" ] || others="$others $one"; done; running=$others ;;
        farewell) exit 0 ;;
    esac
done
echo 'bench: interrupted: the servers are being stopped; what was written so far is marked partial' >&2
for one in $running; do kill -INT "$one" 2>/dev/null; kill -TERM "$one" 2>/dev/null; done
for turn in $(seq 100); do
    left=; for one in $running; do kill -0 "$one" 2>/dev/null && left="$left $one"; done
    [ -n "$left" ] || break
    sleep 0.1
done
for one in $left; do kill -KILL "$one" 2>/dev/null; done
sleep 0.2
rm -rf "$1"
"#;

/// The shell, as long as this stands.
pub struct Guard {
    child: Child,
    pipe: Mutex<ChildStdin>,
}

impl Guard {
    /// Over a folder, which it removes if this program is interrupted.
    pub fn start(folder: &Path) -> Result<Guard, Failure> {
        let mut child = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // What is sent to this program and all of its group, even a SIGKILL, is not for the guard.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("no shell to guard the servers with: {error}"))?;
        let pipe = child.stdin.take().ok_or("the guard has no input")?;
        Ok(Guard { child, pipe: Mutex::new(pipe) })
    }

    /// A process to stop if nobody else does.
    pub fn started(&self, process: u32) -> Result<(), Failure> {
        self.tell(&format!("started {process}"))
    }

    /// A process that has been waited for: its number may soon be another's.
    pub fn ended(&self, process: u32) -> Result<(), Failure> {
        self.tell(&format!("ended {process}"))
    }

    /// Everything is stopped and removed.
    pub fn dismiss(mut self) -> Result<(), Failure> {
        self.tell("farewell")?;
        self.child.wait()?;
        Ok(())
    }

    fn tell(&self, line: &str) -> Result<(), Failure> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipe, "{line}").map_err(|error| format!("the guard is gone: {error}").into())
    }
}
