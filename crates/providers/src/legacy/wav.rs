//! The recording of a simulated call: one tone per turn, higher for the customer's.

use offhook_engine::{Turn, TurnRole};

/// Samples per second, 16 bit, mono.
const RATE: u32 = 8_000;

const LONGEST_S: u64 = 60;

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
    offhook_media::wav::mono(&samples, RATE)
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
            source: None,
        };
        let file = of(&[turn(TurnRole::Agent, 1_000), turn(TurnRole::User, 500)]);
        assert_eq!(file.len(), 44 + 2 * 12_000);
        assert_eq!(&file[..4], b"RIFF");
        assert_eq!(file[40..44], 24_000_u32.to_le_bytes());
        let long = of(&[turn(TurnRole::Agent, 3_600_000)]);
        assert_eq!(long.len(), 44 + 2 * 480_000);
    }
}
