//! A file that is written past the system's memory of files, where its file system lets one.
//!
//! ```text
//! bytes ─▶ a buffer that begins at a multiple of 4 KiB ─▶ whole blocks, straight to the disk ─▶ the rest of a block, as usual
//! ```
//! Nobody reads soon what a backup writes. Through the system's memory each gigabyte takes half a second of a processor, beside others
//! more, and pushes out what these read; past it, a twentieth of that.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Whatever the disk's blocks are, they are parts of this.
const BLOCK_BYTES: usize = 4096;
const BUFFER_BYTES_MAX: usize = 8 << 20;

/// See the module.
pub(super) struct DirectFile {
    file: File,
    is_direct: bool,
    /// Bytes that are written: whole blocks.
    written: u64,
    buffer: Vec<u8>,
    /// Where in the buffer a block may begin.
    begins: usize,
    /// Bytes from there that are still to be written.
    waiting: usize,
}

impl DirectFile {
    /// A new file, of so many bytes.
    pub(super) fn create(path: &Path, bytes: usize) -> io::Result<DirectFile> {
        let direct = i32::try_from(OFlags::DIRECT.bits()).map_err(io::Error::other)?;
        let open = |flags| {
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(flags).open(path)
        };
        let (file, is_direct) = match open(direct) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => (open(0)?, false),
            file => (file?, true),
        };
        let buffer = vec![0; bytes.next_multiple_of(BLOCK_BYTES).min(BUFFER_BYTES_MAX) + BLOCK_BYTES];
        let begins = buffer.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        Ok(DirectFile { file, is_direct, written: 0, buffer, begins, waiting: 0 })
    }

    /// The next bytes: but for the last of them, less than a block, they are on the disk.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let free = &mut self.buffer[self.begins + self.waiting..];
            let (now, later) = bytes.split_at(bytes.len().min(free.len()));
            free[..now.len()].copy_from_slice(now);
            self.waiting += now.len();
            self.write_blocks()?;
            bytes = later;
        }
        Ok(())
    }

    fn write_blocks(&mut self) -> io::Result<()> {
        let whole = self.waiting - self.waiting % BLOCK_BYTES;
        match self.put(whole) {
            Err(error) if self.is_direct && error.kind() == io::ErrorKind::InvalidInput => {
                // It lets one open such a file, and not write to it.
                self.go_through_memory()?;
                self.put(whole)?;
            }
            put => put?,
        }
        self.written += whole as u64;
        if !self.is_direct {
            self.file.sync_data()?;
        }
        self.buffer.copy_within(self.begins + whole..self.begins + self.waiting, self.begins);
        self.waiting -= whole;
        Ok(())
    }

    /// So many of the bytes that wait, where they belong.
    fn put(&self, bytes: usize) -> io::Result<()> {
        self.file.write_all_at(&self.buffer[self.begins..self.begins + bytes], self.written)
    }

    fn go_through_memory(&mut self) -> io::Result<()> {
        self.is_direct = false;
        fcntl_setfl(&self.file, fcntl_getfl(&self.file)? - OFlags::DIRECT)?;
        Ok(())
    }

    /// All is on the disk once this returns.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.waiting > 0 {
            if self.is_direct {
                self.go_through_memory()?;
            }
            self.put(self.waiting)?;
        }
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_pieces_of_any_size_is_there() {
        let folder = std::env::temp_dir().join(format!("dogwood-direct-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        // /dev/shm has no such files, or has had none for long.
        for folder in [folder.as_path(), Path::new("/dev/shm")] {
            let path = folder.join(format!("dogwood-direct-file-{}", std::process::id()));
            for length in [0_usize, 1, 4095, 4096, 4097, 100_000, (8 << 20) + 4097] {
                let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
                for piece in [1 << 20, 4096, 12_345] {
                    let mut file = DirectFile::create(&path, length).expect("created");
                    bytes.chunks(piece).for_each(|piece| file.write(piece).expect("written"));
                    file.finish().expect("finished");
                    assert!(std::fs::read(&path).expect("read") == bytes, "{length} by {piece}");
                }
                // More than was said, and behind something longer.
                let mut file = DirectFile::create(&path, 1).expect("created");
                file.write(&bytes).expect("written");
                file.finish().expect("finished");
                assert!(std::fs::read(&path).expect("read") == bytes, "{length} at once");
            }
            std::fs::remove_file(&path).expect("removed");
        }
        std::fs::remove_dir(&folder).expect("removed");
    }
}
