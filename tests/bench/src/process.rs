//! A process's resource use, from /proc.

use anyhow::Context as _;

/// The kernel's unit of processor time: USER_HZ is 100 on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The processor time that a process has used.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, may hold any characters; utime and stime are the 12th and 13th field after it.
    let fields = stat.rsplit_once(')').context("/proc/…/stat")?.1;
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<f64>().unwrap_or(0.0));
    Ok(ticks.sum::<f64>() / TICKS_PER_SECOND)
}

/// The processor time that these processes and their children have used.
pub(crate) fn cpu_seconds_with_children(parents: &[u32]) -> anyhow::Result<f64> {
    let mut seconds = 0.0;
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process may end meanwhile.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| {
            let parent = rest.split_whitespace().nth(1)?;
            parent.parse().ok()
        });
        if parents.contains(&pid) || parent.is_some_and(|parent| parents.contains(&parent)) {
            seconds += cpu_seconds(pid).unwrap_or(0.0);
        }
    }
    Ok(seconds)
}

/// The resident memory of a process in KiB.
pub(crate) fn resident_kib(pid: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.context("the process has gone")?.parse()?)
}
