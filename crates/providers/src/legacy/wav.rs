//! The recording of a simulated call: one tone for each turn, higher for the customer's.

use offhook_engine::{Turn, TurnRole};

/// Samples a second, of 16 bits, on one channel.
const RATE: u32 = 8_000;

/// The longest recording, in seconds.
const LONGEST_S: u64 = 60;

/// A WAV file of these turns.
pub(super) fn of(turns: &[Turn]) -> Vec<u8> {
    let most = usize::try_from(LONGEST_S * u64::from(RATE)).unwrap_or(usize::MAX);
    let mut samples: Vec<i16> = Vec::new();
    for turn in turns {
        // Half a period in samples: 400 Hz for the agent, 800 Hz for the customer.
        let half = match turn.role {
            TurnRole::Agent | TurnRole::Tool => 10,
            TurnRole::User => 5,
        };
        let count = usize::try_from(u64::from(turn.duration_ms) * u64::from(RATE) / 1_000);
        let count = count.unwrap_or(most).min(most - samples.len());
        samples.extend((0..count).map(|at| if at / half % 2 == 0 { 4_000 } else { -4_000 }));
    }
    let data = u32::try_from(samples.len() * 2).unwrap_or(u32::MAX);
    let mut file = Vec::with_capacity(44 + samples.len() * 2);
    file.extend(b"RIFF");
    file.extend((36 + data).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(RATE.to_le_bytes());
    file.extend((RATE * 2).to_le_bytes());
    file.extend(2_u16.to_le_bytes());
    file.extend(16_u16.to_le_bytes());
    file.extend(b"data");
    file.extend(data.to_le_bytes());
    for sample in samples {
        file.extend(sample.to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use offhook_domain::Timestamp;

    use super::*;

    #[test]
    fn a_recording_is_as_long_as_its_turns() {
        let turn = |role, duration_ms| Turn {
            role,
            text: String::new(),
            started_at: Timestamp::from_micros(0),
            duration_ms,
            interrupted: false,
        };
        let file = of(&[turn(TurnRole::Agent, 1_000), turn(TurnRole::User, 500)]);
        assert_eq!(file.len(), 44 + 2 * 12_000);
        assert_eq!(&file[..4], b"RIFF");
        assert_eq!(file[40..44], 24_000_u32.to_le_bytes());
        let long = of(&[turn(TurnRole::Agent, 3_600_000)]);
        assert_eq!(long.len(), 44 + 2 * 480_000);
    }
}
