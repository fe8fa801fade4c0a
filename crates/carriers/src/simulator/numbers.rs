//! The numbers of the simulated network, and their behavior.

use offhook_domain::E164;

/// The number from which every account may call.
pub const SHARED_NUMBER: &str = "+15005550100";

/// The prefix of every number that an account may take; four digits follow.
const GIVEN: &str = "+1500555";

/// Whether an account may take this number: any number of the network except the shared one.
pub(crate) fn are_given(number: &E164) -> bool {
    let rest = number.as_str().strip_prefix(GIVEN);
    rest.is_some_and(|rest| rest.len() == 4) && number.as_str() != SHARED_NUMBER
}

/// The prefix of a credential of the simulated network.
const CREDENTIAL: &str = "sim_";

/// The two numbers of a credential, always the same: the part after `sim_` selects them. `None` for a credential of
/// another form.
pub(crate) fn of_credential(credential: &str) -> Option<Vec<E164>> {
    let name = credential
        .strip_prefix(CREDENTIAL)
        .filter(|name| !name.is_empty())?;
    // FNV-1a gives the same result on every machine and in every version.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let number = |at: u64| {
        // Start at 1000: the numbers below have special behaviors.
        let last = 1_000 + (hash.wrapping_add(at)) % 9_000;
        format!("{GIVEN}{last:04}").parse().ok()
    };
    [number(0), number(1)].into_iter().collect()
}

/// What happens when a number is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// A person answers, talks a little, says goodbye and hangs up. This is the default for all other numbers.
    Talks,
    /// `+15005550001`: busy.
    Busy,
    /// `+15005550002`: no answer.
    NoAnswer,
    /// `+15005550003`: the call is declined.
    Rejects,
    /// `+15005550004`: an answering machine picks up.
    Voicemail,
    /// `+15005550005`: the number does not exist.
    Invalid,
    /// `+15005550006`: the person hangs up in the middle of the agent's second turn.
    HangsUpMidSentence,
    /// `+15005550007`: no connection to the carrier can be opened.
    Unreachable,
    /// `+15005550008`: the carrier accepts the call and never reports anything.
    NeverReports,
    /// `+15005550009`: the person interrupts the agent's second turn, and then continues like others.
    Interrupts,
    /// `+15005550010`: the person answers and says nothing.
    StaysSilent,
}

impl Behaviour {
    /// The behavior of this number.
    pub fn of(number: &E164) -> Self {
        match number.as_str() {
            "+15005550001" => Self::Busy,
            "+15005550002" => Self::NoAnswer,
            "+15005550003" => Self::Rejects,
            "+15005550004" => Self::Voicemail,
            "+15005550005" => Self::Invalid,
            "+15005550006" => Self::HangsUpMidSentence,
            "+15005550007" => Self::Unreachable,
            "+15005550008" => Self::NeverReports,
            "+15005550009" => Self::Interrupts,
            "+15005550010" => Self::StaysSilent,
            _ => Self::Talks,
        }
    }
}
