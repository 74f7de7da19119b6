//! A folder of a test's own, and copies of folders.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The path of a folder that is not there yet, among the system's temporary ones. Dropped, the folder is gone.
pub struct TemporaryFolder(pub PathBuf);

impl TemporaryFolder {
    /// Called after what it is for, which nothing else in the process is.
    pub fn new(name: &str) -> TemporaryFolder {
        let path = std::env::temp_dir().join(format!("dogwood-{name}-{}", std::process::id()));
        let _left = fs::remove_dir_all(&path);
        TemporaryFolder(path)
    }
}

impl Deref for TemporaryFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// Copies all files of a folder beside what the other holds.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("creates");
    for entry in fs::read_dir(from).expect("reads folder") {
        let path = entry.expect("reads folder").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copies");
        }
    }
}
