//! The simulated workspace of a credential: two fixed agents.

use offhook_domain::NumberProvider;
use offhook_engine::legacy::{LegacyAgent, LegacyError, LegacyNumber, LegacyRefusal};

use super::Result;

/// The prefix of a credential.
const CREDENTIAL: &str = "sim_";

pub(super) struct Workspace(u64);

impl Workspace {
    /// The workspace of a credential; the part after `sim_` selects it.
    pub(super) fn of(credential: &str) -> Result<Self> {
        let name = credential
            .strip_prefix(CREDENTIAL)
            .filter(|name| !name.is_empty())
            .ok_or(LegacyError::Refused(LegacyRefusal::NoWorkspace))?;
        // FNV-1a gives the same result on every machine and in every version.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Ok(Self(hash))
    }

    /// Its agents; only the first has a number.
    pub(super) fn agents(&self) -> Vec<LegacyAgent> {
        let number = format!("+1500556{:04}", self.0 % 10_000).parse().ok();
        vec![
            LegacyAgent {
                id: self.id(1),
                name: "Reception".to_owned(),
                system_prompt: Some(
                    "You answer for the front desk.\nsay: Thank you, I have noted that.".to_owned(),
                ),
                first_message: Some("Hello {{name}}, this is the front desk.".to_owned()),
                language: Some("en".to_owned()),
                model: Some("simulated-1".to_owned()),
                voice_id: Some("simulated-voice-1".to_owned()),
                phone_numbers: number
                    .map(|number| LegacyNumber {
                        number,
                        label: "Front desk".to_owned(),
                        provider: NumberProvider::Simulator,
                    })
                    .into_iter()
                    .collect(),
            },
            LegacyAgent {
                id: self.id(2),
                name: "Reminders".to_owned(),
                system_prompt: Some("You remind customers of their appointments.".to_owned()),
                first_message: Some("Hola {{name}}, le recordamos su cita.".to_owned()),
                language: Some("es-MX".to_owned()),
                model: None,
                voice_id: None,
                phone_numbers: Vec::new(),
            },
        ]
    }

    pub(super) fn agent(&self, id: &str) -> Result<LegacyAgent> {
        let agent = self.agents().into_iter().find(|agent| agent.id == id);
        agent.ok_or(LegacyError::Refused(LegacyRefusal::NoAgent))
    }

    fn id(&self, number: u32) -> String {
        format!("agent_{:016x}{number:04}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_opens_the_same_two_agents_every_time() {
        let agents = Workspace::of("sim_a").unwrap().agents();
        assert_eq!(agents, Workspace::of("sim_a").unwrap().agents());
        assert_eq!(agents.len(), 2);
        assert!(agents.iter().all(|agent| agent.id.starts_with("agent_")));
        assert_ne!(agents[0].id, agents[1].id);
        assert_ne!(agents[0].id, Workspace::of("sim_b").unwrap().agents()[0].id);
        assert_eq!(agents[0].phone_numbers.len(), 1);
    }

    #[test]
    fn a_credential_of_another_form_opens_nothing() {
        for credential in ["", "sim_", "xi-key"] {
            assert!(Workspace::of(credential).is_err(), "{credential}");
        }
    }
}
