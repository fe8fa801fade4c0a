//! Nanoseconds per decision beside `governor`, and memory for 1,000,000 clients, as Markdown tables.
//!
//! Both limiters key by `IpAddr`. `governor` reads the processor's counter in every decision; this crate is passed the
//! time, so it is measured with a time at hand, as where a request's time serves for several checks, and with reading
//! the system's clock. Percentiles are of decisions timed one by one, less the median time of an empty measurement;
//! the mean is of decisions that are not.

fn main() {
    // `cargo test --benches` and test runners start this too, to list tests: it has none.
    if std::env::args().any(|argument| argument == "--bench") {
        decisions::run();
    }
}

mod decisions {
    use std::hint::black_box;
    use std::net::{IpAddr, Ipv4Addr};
    use std::num::NonZeroU32;
    use std::sync::Barrier;
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    use governor::{DefaultKeyedRateLimiter, RateLimiter};
    use offhook_ratelimit::{IPV6_PREFIX_BITS, Key, MemoryStore, Quota};

    const DECISIONS: usize = 1_000_000;
    const LIMIT: u32 = 60;

    pub(super) fn run() {
        // First, while the process holds no freed memory that the tables could take unseen.
        memory();
        println!();
        println!("| keys | threads | limiter | mean ns | p50 ns | p99 ns |");
        println!("|---:|---:|---|---:|---:|---:|");
        for keys in [1, 10_000, 1_000_000] {
            for threads in [1, 2] {
                let now = now_us();
                row(
                    keys,
                    threads,
                    "offhook-ratelimit",
                    &Ours {
                        store: MemoryStore::new(),
                        clock: || now,
                    },
                );
                row(
                    keys,
                    threads,
                    "offhook-ratelimit + clock",
                    &Ours {
                        store: MemoryStore::new(),
                        clock: now_us,
                    },
                );
                row(keys, threads, "governor 0.10", &Theirs::new());
            }
        }
    }

    trait Limiter: Sync {
        fn take(&self, address: IpAddr) -> bool;
    }

    struct Ours<C> {
        store: MemoryStore,
        clock: C,
    }

    impl<C: Fn() -> i64 + Sync> Limiter for Ours<C> {
        fn take(&self, address: IpAddr) -> bool {
            let key = Key::address(address, IPV6_PREFIX_BITS);
            self.store
                .take(key, Quota::per_minute(LIMIT), (self.clock)())
                .allowed
        }
    }

    struct Theirs(DefaultKeyedRateLimiter<IpAddr>);

    impl Theirs {
        fn new() -> Self {
            let limit = NonZeroU32::new(LIMIT).unwrap_or(NonZeroU32::MIN);
            Self(RateLimiter::keyed(governor::Quota::per_minute(limit)))
        }
    }

    impl Limiter for Theirs {
        fn take(&self, address: IpAddr) -> bool {
            self.0.check_key(&address).is_ok()
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the cost of the system's clock is part of the measurement"
    )]
    fn now_us() -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    /// The addresses in an order that no cache foresees.
    fn addresses(keys: u32, salt: u32) -> impl Iterator<Item = IpAddr> {
        let mut number = u64::from(salt) << 32 | 1;
        std::iter::repeat_with(move || {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            address(((number >> 33) % u64::from(keys)) as u32)
        })
    }

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | number))
    }

    fn row(keys: u32, threads: u32, name: &str, limiter: &impl Limiter) {
        for number in 0..keys {
            black_box(limiter.take(address(number)));
        }
        let start = Barrier::new(threads as usize);
        let (mut means, mut times) = (Vec::new(), Vec::new());
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|salt| {
                    let start = &start;
                    scope.spawn(move || {
                        let order: Vec<IpAddr> = addresses(keys, salt).take(DECISIONS).collect();
                        start.wait();
                        (mean(limiter, &order), each(limiter, &order))
                    })
                })
                .collect();
            for worker in workers {
                if let Ok((mean, each)) = worker.join() {
                    means.push(mean);
                    times.extend(each);
                }
            }
        });
        times.sort_unstable();
        let empty = empty_measurement();
        let percentile = |p: usize| times[(times.len() - 1) * p / 100].saturating_sub(empty);
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        println!(
            "| {keys} | {threads} | {name} | {mean:.0} | {} | {} |",
            percentile(50),
            percentile(99)
        );
    }

    fn mean(limiter: &impl Limiter, order: &[IpAddr]) -> f64 {
        let start = Instant::now();
        for &address in order {
            black_box(limiter.take(address));
        }
        start.elapsed().as_nanos() as f64 / order.len() as f64
    }

    fn each(limiter: &impl Limiter, order: &[IpAddr]) -> Vec<u64> {
        let time = |&address| {
            let start = Instant::now();
            black_box(limiter.take(address));
            start.elapsed().as_nanos() as u64
        };
        order.iter().map(time).collect()
    }

    fn empty_measurement() -> u64 {
        let mut times: Vec<_> = (0..10_001)
            .map(|_| Instant::now().elapsed().as_nanos() as u64)
            .collect();
        times.sort_unstable();
        times[times.len() / 2]
    }

    fn memory() {
        println!("| 1,000,000 clients | MiB of the process | MiB by its own count |");
        println!("|---|---:|---:|");
        let before = resident_mib();
        let store = MemoryStore::new();
        let now = now_us();
        let fill = |at| {
            (0..1_000_000).for_each(|number| {
                black_box(store.take(
                    Key::address(address(number), IPV6_PREFIX_BITS),
                    Quota::per_minute(LIMIT),
                    at,
                ));
            })
        };
        let line = |name| {
            let counted = store.memory_bytes() as f64 / f64::from(1 << 20);
            println!(
                "| offhook-ratelimit, {name} | {:.1} | {counted:.1} |",
                resident_mib() - before
            );
        };
        fill(now);
        line("one generation");
        fill(now + 61_000_000);
        line("two generations");
        if store.overflowed() > 0 {
            println!("{} decisions overflowed", store.overflowed());
        }
        let before = resident_mib();
        let theirs = Theirs::new();
        for number in 0..1_000_000 {
            black_box(theirs.take(address(number)));
        }
        println!(
            "| governor 0.10, never shrinks | {:.1} | |",
            resident_mib() - before
        );
    }

    /// What the process holds, where the system tells (Linux).
    fn resident_mib() -> f64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line
            .and_then(|line| line.split_whitespace().next())
            .and_then(|kib| kib.parse::<f64>().ok());
        kib.unwrap_or(f64::NAN) / 1024.0
    }
}
