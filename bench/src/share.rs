//! Holding processes to a share of a processor, by control groups.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Microseconds in which the share is counted.
const PERIOD_US: f64 = 100_000.0;

/// A control group; it is removed with the value, when its processes have ended.
pub(crate) struct Share {
    directory: PathBuf,
}

impl Share {
    /// A group whose processes get so many cores together. Making one takes root, and control groups that can be written.
    pub(crate) fn new(name: &str, cores: f64) -> anyhow::Result<Self> {
        let name = format!("offhook-bench-{name}-{}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/cpu");
        let quota = format!("{:.0}", cores * PERIOD_US);
        let (directory, settings) = if first.is_dir() {
            let settings = [
                ("cpu.cfs_period_us", format!("{PERIOD_US:.0}")),
                ("cpu.cfs_quota_us", quota),
            ];
            (first.join(name), settings.to_vec())
        } else {
            let settings = [("cpu.max", format!("{quota} {PERIOD_US:.0}"))];
            (Path::new("/sys/fs/cgroup").join(name), settings.to_vec())
        };
        std::fs::create_dir(&directory).context("a control group")?;
        let made = Self { directory };
        for (file, value) in settings {
            let file = made.directory.join(file);
            anyhow::ensure!(file.exists(), "no {}", file.display());
            std::fs::write(file, value)?;
        }
        Ok(made)
    }

    /// Puts a process into the group.
    pub(crate) fn hold(&self, pid: u32) -> anyhow::Result<()> {
        let file = self.directory.join("cgroup.procs");
        Ok(std::fs::write(file, pid.to_string())?)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // A process that is being killed keeps its group for a moment.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
