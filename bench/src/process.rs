//! What a process has used, from /proc.

use anyhow::{Context as _, bail};

/// The kernel's unit of processor time: USER_HZ is 100 on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds of processor time that a process has used.
pub(crate) fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, may hold anything; utime and stime are the 12th and 13th field behind it.
    let fields = stat.rsplit_once(')').context("/proc/…/stat")?.1;
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<f64>().unwrap_or(0.0));
    Ok(ticks.sum::<f64>() / TICKS_PER_SECOND)
}

/// KiB of memory that a process holds.
pub(crate) fn resident_kib(pid: u32) -> anyhow::Result<f64> {
    memory_kib(pid, "VmRSS:")
}

/// KiB of memory that a process has held at once, at most, since [`forget_peak`].
pub(crate) fn peak_kib(pid: u32) -> anyhow::Result<f64> {
    memory_kib(pid, "VmHWM:")
}

/// Makes what a process holds now the most that it has held.
pub(crate) fn forget_peak(pid: u32) -> anyhow::Result<()> {
    Ok(std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}

fn memory_kib(pid: u32, name: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    match line.and_then(|line| line.split_whitespace().next()) {
        Some(kib) => Ok(kib.parse()?),
        None => bail!("process {pid} has gone"),
    }
}
