//! How loud each side of a recording is over time, for a player to draw.

use futures_util::StreamExt as _;
use offhook_media::wav::HEADER_LEN;
use offhook_objects::ObjectError;
use tokio::sync::Semaphore;

use super::Recording;

/// Parts of a recording that are drawn.
const PARTS: usize = 600;

/// Recordings read at once: each is read from its beginning to its end.
static READING: Semaphore = Semaphore::const_new(2);

/// The loudest sample of each part of a recording, by side, in 1/100 of full scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waveform {
    pub seconds: u64,
    /// The caller, then the agent; one side alone if the recording has one channel.
    pub sides: Vec<Vec<u8>>,
}

/// What the header of a recording says.
struct Format {
    channels: usize,
    rate: u64,
}

impl Format {
    /// `None` for what is no WAV with 16 bits and one or two channels.
    fn of(header: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u16::from_le_bytes(header.get(at..at + 2)?.try_into().ok()?));
        let is_ours = header.get(..4)? == b"RIFF" && header.get(36..40)? == b"data";
        let channels = usize::from(word(22)?);
        let rate = u32::from_le_bytes(header.get(24..28)?.try_into().ok()?);
        let fits = is_ours && word(34)? == 16 && (1..=2).contains(&channels) && rate > 0;
        fits.then_some(Self {
            channels,
            rate: rate.into(),
        })
    }
}

/// Peaks of samples that arrive in pieces.
struct Peaks {
    channels: usize,
    /// Samples of all channels.
    total: usize,
    seen: usize,
    sides: Vec<Vec<u16>>,
    /// The first half of a sample that was cut in two.
    half: Option<u8>,
}

impl Peaks {
    fn new(channels: usize, total: usize) -> Self {
        Self {
            channels,
            total: total.max(1),
            seen: 0,
            sides: vec![vec![0; PARTS]; channels],
            half: None,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if let (Some(low), Some((high, after))) = (self.half, rest.split_first()) {
            self.sample([low, *high]);
            (self.half, rest) = (None, after);
        }
        let pairs = rest.chunks_exact(2);
        if let [half] = pairs.remainder() {
            self.half = Some(*half);
        }
        for pair in pairs {
            self.sample([pair[0], pair[1]]);
        }
    }

    fn sample(&mut self, bytes: [u8; 2]) {
        let part = (self.seen * PARTS / self.total).min(PARTS - 1);
        let side = &mut self.sides[self.seen % self.channels];
        side[part] = side[part].max(i16::from_le_bytes(bytes).unsigned_abs());
        self.seen += 1;
    }

    fn in_hundredths(self) -> Vec<Vec<u8>> {
        let of_full = |peak: u16| u8::try_from(u32::from(peak) * 100 / 32_768).unwrap_or(100);
        let sides = self.sides.into_iter();
        sides
            .map(|side| side.into_iter().map(of_full).collect())
            .collect()
    }
}

impl Recording {
    /// Reads the whole recording. `None` if it has been deleted meanwhile, or is of another form.
    pub async fn waveform(&self) -> Result<Option<Waveform>, ObjectError> {
        let _permit = READING.acquire().await;
        let Some(mut content) = self.part(0, self.bytes).await? else {
            return Ok(None);
        };
        let mut header = Vec::new();
        let mut peaks: Option<(Peaks, Format)> = None;
        let header_len = usize::try_from(HEADER_LEN).unwrap_or(0);
        while let Some(piece) = content.next().await {
            let piece = piece?;
            let mut piece = &piece[..];
            if peaks.is_none() {
                let (head, rest) = piece.split_at(piece.len().min(header_len - header.len()));
                header.extend_from_slice(head);
                if header.len() < header_len {
                    continue;
                }
                let Some(format) = Format::of(&header) else {
                    return Ok(None);
                };
                let samples = usize::try_from(self.bytes.saturating_sub(HEADER_LEN) / 2);
                let begun = Peaks::new(format.channels, samples.unwrap_or(usize::MAX / PARTS));
                peaks = Some((begun, format));
                piece = rest;
            }
            if let Some((peaks, _)) = &mut peaks {
                peaks.add(piece);
            }
        }
        Ok(peaks.map(|(peaks, format)| Waveform {
            seconds: (peaks.seen / format.channels) as u64 / format.rate,
            sides: peaks.in_hundredths(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_as_loud_as_its_loudest_sample_however_the_bytes_arrive() {
        // The caller speaks in the first half, the agent in the second.
        let frames = 2 * PARTS;
        let samples = (0..frames).flat_map(|at| match at < PARTS {
            true => [i16::MIN, 0],
            false => [0, 16_384],
        });
        let bytes: Vec<u8> = samples.flat_map(i16::to_le_bytes).collect();
        for size in [1, 3, 4, 1_000, bytes.len()] {
            let mut peaks = Peaks::new(2, bytes.len() / 2);
            for piece in bytes.chunks(size) {
                peaks.add(piece);
            }
            let sides = peaks.in_hundredths();
            let half = PARTS / 2;
            assert_eq!(
                (sides[0][0], sides[0][half - 1], sides[0][half]),
                (100, 100, 0)
            );
            assert_eq!(
                (sides[1][half - 1], sides[1][half], sides[1][PARTS - 1]),
                (0, 50, 50)
            );
        }
    }
}
