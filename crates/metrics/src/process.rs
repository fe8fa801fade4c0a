//! Metrics of this process from the operating system, under the names that every Prometheus client uses.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Clock ticks a second in /proc, fixed by the kernel's ABI.
const TICKS: f64 = 100.0;

/// Page size in bytes on the supported platforms.
const PAGE: i64 = 4096;

/// Reads /proc at every scrape. Reports nothing on a system without it.
#[derive(Debug)]
pub(crate) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Some(seen) = read_stats() else {
            return Ok(());
        };
        let (bytes, seconds) = (Some(&Unit::Bytes), Some(&Unit::Seconds));
        let memory = "Memory that is in use.";
        for (name, about, unit, value) in [
            (
                "process_resident_memory",
                memory,
                bytes,
                seen.resident_bytes,
            ),
            ("process_threads", "Threads.", None, seen.threads),
            (
                "process_open_fds",
                "Open file descriptors.",
                None,
                seen.open_fds,
            ),
            (
                "process_max_fds",
                "File descriptors at most.",
                None,
                seen.max_fds,
            ),
        ] {
            let metric = encoder.encode_descriptor(name, about, unit, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)?;
        }
        let (name, about) = ("process_start_time", "Start of the process, Unix time.");
        let metric = encoder.encode_descriptor(name, about, seconds, MetricType::Gauge)?;
        ConstGauge::new(seen.start_seconds).encode(metric)?;
        let (name, about) = (
            "process_cpu",
            "CPU time of the process and the system for it.",
        );
        let metric = encoder.encode_descriptor(name, about, seconds, MetricType::Counter)?;
        ConstCounter::new(seen.cpu_seconds).encode(metric)
    }
}

struct ProcessStats {
    resident_bytes: i64,
    threads: i64,
    open_fds: i64,
    max_fds: i64,
    start_seconds: f64,
    cpu_seconds: f64,
}

fn read_stats() -> Option<ProcessStats> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name may hold spaces and parentheses. The numbers begin after the last one, with the third field.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
    let ticks = |number: usize| field(number).map(|ticks| ticks as f64 / TICKS);
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let max_fds = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(-1);
    Some(ProcessStats {
        resident_bytes: field(24)? * PAGE,
        threads: field(20)?,
        open_fds: i64::try_from(std::fs::read_dir("/proc/self/fd").ok()?.count()).ok()?,
        max_fds,
        start_seconds: boot_seconds()? + ticks(22)?,
        cpu_seconds: ticks(14)? + ticks(15)?,
    })
}

fn boot_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "compared with what the system says"
    )]
    fn a_process_sees_itself() {
        let seen = read_stats().unwrap();
        assert!(seen.resident_bytes > 1_000_000, "{}", seen.resident_bytes);
        assert!(seen.threads >= 1 && seen.open_fds >= 3 && seen.max_fds >= seen.open_fds);
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let age = now - seen.start_seconds;
        assert!((-2.0..3600.0).contains(&age), "{age}");
        assert!(seen.cpu_seconds >= 0.0);
    }
}
