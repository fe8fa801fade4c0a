//! Sample rate conversion with a windowed-sinc polyphase filter.
//!
//! Down to 8 kHz it passes 300 to 3,300 Hz unchanged, and aliases into that band are 60 dB down.

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

/// The sample rates of speech services and recordings, in Hz.
pub const RATES: [u32; 9] = [
    8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000,
];

/// The filter's length to each side, in zero crossings of its sinc.
const CROSSINGS: u32 = 20;

/// The middle of the transition band, relative to half the lower rate.
const CUTOFF: f64 = 0.91;

/// The Kaiser window's parameter for 60 dB.
const BETA: f64 = 5.65;

/// A rate that is not in [`RATES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sound of {0} samples per second cannot be resampled: the rates are {RATES:?}")]
pub struct UnknownRate(pub u32);

/// The coefficients for a pair of rates.
#[derive(Debug)]
struct Filter {
    /// Phases between two input samples: the output rate divided by the common divisor.
    phases: usize,
    /// Phases between two output samples: the input rate divided by the common divisor.
    step: usize,
    /// Input samples on each side.
    half: usize,
    /// `2 * half` coefficients per phase.
    coefficients: Vec<f32>,
}

/// Filters by input and output rate.
type Filters = BTreeMap<(u32, u32), Arc<Filter>>;

/// A stream of samples that changes its rate. It adds no time shift: the first output sample is at the time of the
/// first input sample.
#[derive(Debug)]
pub struct Resampler {
    /// `None` if the rates are equal.
    filter: Option<Arc<Filter>>,
    input: Vec<f32>,
    /// The start of the next output's window in `input`, and its phase.
    at: usize,
    phase: usize,
    taken: u64,
    given: u64,
}

impl Resampler {
    /// Creates a stream from one of [`RATES`] to another. Returns [`UnknownRate`] for any other rate.
    pub fn new(from: u32, to: u32) -> Result<Self, UnknownRate> {
        for rate in [from, to] {
            if !RATES.contains(&rate) {
                return Err(UnknownRate(rate));
            }
        }
        let filter = (from != to).then(|| filter(from, to));
        let before = filter.as_ref().map_or(0, |filter| filter.half - 1);
        Ok(Self {
            filter,
            input: vec![0.0; before],
            at: 0,
            phase: 0,
            taken: 0,
            given: 0,
        })
    }

    /// Adds samples and appends the available output: all but the last few milliseconds.
    pub fn push(&mut self, samples: &[i16], out: &mut Vec<i16>) {
        let Some(filter) = self.filter.clone() else {
            out.extend_from_slice(samples);
            return;
        };
        self.taken += samples.len() as u64;
        self.input
            .extend(samples.iter().map(|&sample| f32::from(sample)));
        self.convolve(&filter, u64::MAX, out);
    }

    /// Appends the remaining output at the end of the stream. A new stream starts afterwards.
    pub fn finish(&mut self, out: &mut Vec<i16>) {
        let Some(filter) = self.filter.clone() else {
            return;
        };
        let all = (self.taken * filter.phases as u64).div_ceil(filter.step as u64);
        self.input.extend(std::iter::repeat_n(0.0, 2 * filter.half));
        self.convolve(&filter, all, out);
        self.input.clear();
        self.input.resize(filter.half - 1, 0.0);
        (self.at, self.phase, self.taken, self.given) = (0, 0, 0, 0);
    }

    /// Produces output while there is input for it, up to `until` samples in all.
    fn convolve(&mut self, filter: &Filter, until: u64, out: &mut Vec<i16>) {
        let taps = 2 * filter.half;
        while self.given < until {
            let Some(window) = self.input.get(self.at..self.at + taps) else {
                break;
            };
            let coefficients = &filter.coefficients[self.phase * taps..][..taps];
            let sum: f32 = window
                .iter()
                .zip(coefficients)
                .map(|(sample, coefficient)| sample * coefficient)
                .sum();
            // `as` saturates.
            out.push(sum.round() as i16);
            self.given += 1;
            self.phase += filter.step;
            self.at += self.phase / filter.phases;
            self.phase %= filter.phases;
        }
        let over = self.at.min(self.input.len());
        self.input.drain(..over);
        self.at -= over;
    }
}

/// The filter for a pair of rates, cached for the process: there are few pairs.
fn filter(from: u32, to: u32) -> Arc<Filter> {
    static MADE: LazyLock<Mutex<Filters>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock();
    made.entry((from, to))
        .or_insert_with(|| Arc::new(Filter::new(from, to)))
        .clone()
}

impl Filter {
    fn new(from: u32, to: u32) -> Self {
        let divisor = common_divisor(from, to);
        let (phases, step) = ((to / divisor) as usize, (from / divisor) as usize);
        // The lower rate relative to the input rate.
        let narrow = f64::from(to.min(from)) / f64::from(from);
        let half = (f64::from(CROSSINGS) / narrow).ceil();
        let cutoff = CUTOFF * narrow;
        let taps = 2 * half as usize;
        let mut coefficients = Vec::with_capacity(phases * taps);
        for phase in 0..phases {
            let between = phase as f64 / phases as f64;
            let row: Vec<f64> = (0..taps)
                .map(|tap| {
                    let distance = tap as f64 - (half - 1.0) - between;
                    cutoff * sinc(cutoff * distance) * kaiser(distance / half)
                })
                .collect();
            let sum: f64 = row.iter().sum();
            coefficients.extend(row.iter().map(|coefficient| (coefficient / sum) as f32));
        }
        Self {
            phases,
            step,
            half: half as usize,
            coefficients,
        }
    }
}

const fn common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 {
        1.0
    } else {
        (PI * x).sin() / (PI * x)
    }
}

/// The Kaiser window from -1 to 1.
fn kaiser(x: f64) -> f64 {
    bessel(BETA * (1.0 - x * x).max(0.0).sqrt()) / bessel(BETA)
}

/// The modified Bessel function of order 0.
fn bessel(x: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..32 {
        term *= (x / 2.0 / f64::from(n)).powi(2);
        sum += term;
    }
    sum
}
