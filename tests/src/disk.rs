//! A small disk that a test fills.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::wait::must;

/// A disk in memory; dropping it removes it.
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    /// A disk of `mib` MiB; `None` if this process may not mount one, which needs root.
    #[must_use]
    pub fn of(mib: u32) -> Option<Self> {
        let folder = must("a directory", tempfile::tempdir());
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(folder.path())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(folder))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills it to the last byte.
    pub fn fill(&self) {
        let mut filler = must("a file", std::fs::File::create(self.filler()));
        for size in [64 * 1024, 1] {
            while std::io::Write::write_all(&mut filler, &vec![0; size]).is_ok() {}
        }
    }

    /// Removes what [`fill`](Self::fill) wrote.
    pub fn empty(&self) {
        must("a removed file", std::fs::remove_file(self.filler()));
    }

    fn filler(&self) -> std::path::PathBuf {
        self.path().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
