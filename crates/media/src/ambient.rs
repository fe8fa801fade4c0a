//! Quiet sound of a place, beneath what is said and while nothing is: made by code, the same each time, and played in a
//! loop that shows no seam.

use std::sync::{Arc, LazyLock};

use crate::SAMPLE_RATE;

/// Samples of a loop: 20 s.
const LOOP: usize = 20 * SAMPLE_RATE as usize;

/// Samples over which a loop's end fades into its beginning: 1 s.
const SEAM: usize = SAMPLE_RATE as usize;

/// How loud a loop is on the whole: 42 dB below full scale, some 20 dB below a voice.
const LEVEL: f32 = 260.0;

/// The loudest sample: a clink in the foreground is no shot.
const PEAK: f32 = 2_000.0;

/// A place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ambient {
    /// A fan, and somebody who types now and then.
    Office,
    /// People who talk far away, and dishes.
    Cafe,
    /// Traffic that comes and goes.
    Street,
}

impl Ambient {
    /// Every place.
    pub const ALL: [Self; 3] = [Self::Office, Self::Cafe, Self::Street];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Office => "office",
            Self::Cafe => "cafe",
            Self::Street => "street",
        }
    }

    /// The place of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }

    /// Its sound, 20 s of 8 kHz. It is made when it is first asked for, in some ten milliseconds, and shared from then on.
    #[must_use]
    pub fn sound(self) -> Arc<[i16]> {
        static OFFICE: LazyLock<Arc<[i16]>> = LazyLock::new(|| looped(office));
        static CAFE: LazyLock<Arc<[i16]>> = LazyLock::new(|| looped(cafe));
        static STREET: LazyLock<Arc<[i16]>> = LazyLock::new(|| looped(street));
        match self {
            Self::Office => OFFICE.clone(),
            Self::Cafe => CAFE.clone(),
            Self::Street => STREET.clone(),
        }
    }
}

/// Numbers that look like chance and are the same each time (xorshift64*).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// From 0 to 1.
    fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// A sample of white noise, from −1 to 1.
    fn noise(&mut self) -> f32 {
        self.share() * 2.0 - 1.0
    }

    /// Samples in a time between these, in seconds.
    fn samples(&mut self, least: f32, most: f32) -> usize {
        ((least + (most - least) * self.share()) * SAMPLE_RATE as f32) as usize
    }
}

/// Of each sample so much goes into a filter that lets pass what is below this frequency.
fn share(hertz: f32) -> f32 {
    1.0 - (-std::f32::consts::TAU * hertz / SAMPLE_RATE as f32).exp()
}

/// Lets what is below a frequency pass, 6 dB an octave.
#[derive(Clone, Copy)]
struct LowPass {
    share: f32,
    level: f32,
}

impl LowPass {
    fn below(hertz: f32) -> Self {
        Self {
            share: share(hertz),
            level: 0.0,
        }
    }

    fn step(&mut self, sample: f32) -> f32 {
        self.level += self.share * (sample - self.level);
        self.level
    }
}

/// Lets what is between two frequencies pass.
#[derive(Clone, Copy)]
struct Band(LowPass, LowPass);

impl Band {
    fn between(low: f32, high: f32) -> Self {
        Self(LowPass::below(high), LowPass::below(low))
    }

    fn step(&mut self, sample: f32) -> f32 {
        let below = self.0.step(sample);
        below - self.1.step(below)
    }
}

/// Adds a sound that begins at once and dies away.
fn strike(sound: &mut [f32], at: usize, length: usize, mut of: impl FnMut(usize) -> f32) {
    for (place, sample) in sound.iter_mut().skip(at).take(length).enumerate() {
        let left = 1.0 - place as f32 / length as f32;
        *sample += of(place) * left * left;
    }
}

fn office(sound: &mut [f32]) {
    let mut chance = Chance(0x0FF1_CE00_0000_0001);
    let mut fan = Band::between(90.0, 260.0);
    let mut air = Band::between(600.0, 2_200.0);
    for sample in sound.iter_mut() {
        let noise = chance.noise();
        *sample = fan.step(noise) + 0.25 * air.step(noise);
    }
    // A word, a pause to think, the next.
    let mut at = chance.samples(0.5, 2.0);
    while at < sound.len() {
        for _ in 0..3 + chance.next() % 9 {
            let loud = 0.5 + 0.6 * chance.share();
            let mut key = Band::between(900.0, 3_000.0);
            let mut clicks = Chance(chance.next() | 1);
            let length = chance.samples(0.006, 0.014);
            strike(sound, at, length, |_| loud * key.step(clicks.noise()));
            at += chance.samples(0.09, 0.24);
        }
        at += chance.samples(1.5, 5.0);
    }
}

fn cafe(sound: &mut [f32]) {
    let mut chance = Chance(0xCAFE_0000_0000_0001);
    // Each of them speaks in syllables, in a pitch of their own, and stops at times.
    for _ in 0..7 {
        let formant = 350.0 + 500.0 * chance.share();
        let mut voice = Band::between(formant, formant * 2.4);
        let mut mouth = LowPass::below(6.0);
        let (mut loud, mut until) = (0.0, 0);
        let mut talks_until = 0;
        let mut talks = true;
        for (place, sample) in sound.iter_mut().enumerate() {
            if place >= talks_until {
                talks = !talks;
                talks_until = place
                    + if talks {
                        chance.samples(1.5, 5.0)
                    } else {
                        chance.samples(0.5, 2.5)
                    };
            }
            if place >= until {
                loud = if talks { chance.share() } else { 0.0 };
                until = place + chance.samples(0.08, 0.25);
            }
            *sample += mouth.step(loud) * voice.step(chance.noise());
        }
    }
    let mut room = Band::between(120.0, 900.0);
    for sample in sound.iter_mut() {
        *sample += 0.4 * room.step(chance.noise());
    }
    let mut at = chance.samples(0.5, 3.0);
    while at < sound.len() {
        let hertz = 1_900.0 + 1_200.0 * chance.share();
        let loud = 0.15 + 0.25 * chance.share();
        let length = chance.samples(0.05, 0.15);
        strike(sound, at, length, |place| {
            let turn = std::f32::consts::TAU * hertz * place as f32 / SAMPLE_RATE as f32;
            loud * (turn.sin() + 0.5 * (turn * 1.31).sin())
        });
        at += chance.samples(1.5, 6.0);
    }
}

fn street(sound: &mut [f32]) {
    let mut chance = Chance(0x57EE_7000_0000_0001);
    let mut far = Band::between(70.0, 350.0);
    for sample in sound.iter_mut() {
        *sample = 0.6 * far.step(chance.noise());
    }
    // Cars: the nearer, the louder and the brighter.
    let mut at = 0;
    while at < sound.len() {
        let length = chance.samples(3.0, 7.0);
        let near = 0.5 + 0.8 * chance.share();
        let mut tyres = Band::between(150.0, 500.0);
        for (place, sample) in sound.iter_mut().skip(at).take(length).enumerate() {
            let way = place as f32 / length as f32;
            let nearness = (std::f32::consts::PI * way).sin().powi(3);
            tyres.0.share = share(500.0 + 1_500.0 * nearness);
            *sample += near * nearness * tyres.step(chance.noise());
        }
        at += chance.samples(2.0, 5.0);
    }
}

/// A loop of what `make` fills a longer piece with.
fn looped(make: fn(&mut [f32])) -> Arc<[i16]> {
    let mut sound = vec![0.0; LOOP + SEAM];
    make(&mut sound);
    // What comes behind the end fades out where the beginning fades in.
    let (body, rest) = sound.split_at_mut(LOOP);
    for (place, (begin, end)) in body.iter_mut().zip(rest.iter()).enumerate() {
        let turn = std::f32::consts::FRAC_PI_2 * place as f32 / SEAM as f32;
        *begin = *begin * turn.sin() + end * turn.cos();
    }
    let power: f32 = body.iter().map(|sample| sample * sample).sum();
    let gain = LEVEL / (power / LOOP as f32).sqrt().max(f32::MIN_POSITIVE);
    body.iter()
        .map(|sample| (sample * gain).clamp(-PEAK, PEAK) as i16)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FRAME_SAMPLES;

    fn loudness(samples: &[i16]) -> f32 {
        let power: f32 = samples.iter().map(|&s| f32::from(s) * f32::from(s)).sum();
        (power / samples.len() as f32).sqrt()
    }

    #[test]
    fn every_place_is_quiet_from_its_beginning_to_its_end_and_never_silent() {
        for place in Ambient::ALL {
            let sound = place.sound();
            assert_eq!(sound.len(), LOOP);
            let whole = loudness(&sound);
            assert!(
                (LEVEL - 30.0..LEVEL + 10.0).contains(&whole),
                "{place:?}: {whole}"
            );
            for frame in sound.chunks_exact(FRAME_SAMPLES) {
                // An echo of it, 18 dB below, is under the floor of what may be speech: 104.
                assert!(loudness(frame) < 820.0, "{place:?}: {}", loudness(frame));
            }
            for second in sound.chunks_exact(SAMPLE_RATE as usize) {
                assert!(loudness(second) > 40.0, "{place:?}");
            }
        }
    }

    #[test]
    fn a_loop_shows_no_seam() {
        for place in Ambient::ALL {
            let sound = place.sound();
            let jump = |a: i16, b: i16| (i32::from(a) - i32::from(b)).abs();
            let usual = sound.windows(2).map(|pair| jump(pair[0], pair[1])).max();
            let seam = jump(sound[LOOP - 1], sound[0]);
            assert!(Some(seam) <= usual, "{place:?}: {seam}");
        }
    }

    #[test]
    fn a_place_has_one_name_and_sounds_the_same_each_time() {
        for place in Ambient::ALL {
            assert_eq!(Ambient::named(place.name()), Some(place));
        }
        assert_eq!(Ambient::named("Office"), None);
        assert_eq!(looped(office)[..], Ambient::Office.sound()[..]);
        assert_ne!(Ambient::Cafe.sound(), Ambient::Street.sound());
    }
}
