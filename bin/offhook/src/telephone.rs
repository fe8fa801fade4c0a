//! The phone network of this process (`calls.carrier`): the simulated one, the trunks of `sip`, or Twilio.

use async_trait::async_trait;
use offhook_carriers::{RemoteSimulator, Simulator};
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg};
use offhook_engine::ports::{Carrier, DialError, DialRequest};
use offhook_media::ports::Ports;
use offhook_media::pump::Latch;
use offhook_services::{CarrierCallbacks, Network};
use offhook_sip::{
    Incoming, Listen, SipCarrier, SipSettings as Endpoint, SipTrunks, SoundSettings, Transport,
};
use offhook_twilio::TwilioCarrier;
use tokio::sync::mpsc;

use crate::prelude::*;
use crate::settings::{Result, SettingsError, SipSettings, TlsSettings};
use crate::tls;

/// The phone network of a process that serves.
pub(crate) struct Telephone {
    /// What calls go out by.
    pub(crate) network: Network,
    /// Where carriers reach this process first: by datagrams, if they do at all.
    pub(crate) address: Option<SocketAddr>,
    /// What comes in, where there is a trunk.
    pub(crate) switchboard: Option<Switchboard>,
    /// Where the carrier comes in, if it speaks HTTP.
    pub(crate) door: Option<Arc<dyn CarrierCallbacks>>,
}

impl Telephone {
    /// One that calls only go out by.
    fn of(network: Network) -> Self {
        Self {
            network,
            address: None,
            switchboard: None,
            door: None,
        }
    }
}

/// Calls that come in by the trunks.
pub(crate) struct Switchboard {
    /// What answers them.
    pub(crate) carrier: Arc<SipCarrier>,
    /// The calls, each by one of the trunks.
    pub(crate) calls: mpsc::Receiver<Incoming>,
}

/// Connects this process to its phone network: with trunks it listens from now on, and looks after the carriers.
///
/// # Errors
/// An address cannot be listened to, or a setting cannot be used.
pub(crate) async fn connect(settings: &Settings) -> anyhow::Result<Telephone> {
    if let Some(twilio) = &settings.twilio {
        let carrier = Arc::new(TwilioCarrier::new(twilio).context("section `twilio`")?);
        return Ok(Telephone {
            door: Some(carrier.clone()),
            ..Telephone::of(Network::Spoken(carrier))
        });
    }
    let Some(sip) = &settings.sip else {
        return Ok(Telephone::of(Network::Text(simulated(settings)?)));
    };
    let (trunks, calls) = start(sip).await.context("section `sip`")?;
    let address = trunks.addresses().first().copied();
    let carrier = SipCarrier::new(Arc::new(trunks), &sip.trunk, sound(sip))?;
    let carrier = Arc::new(carrier);
    Ok(Telephone {
        address,
        switchboard: Some(Switchboard {
            carrier: carrier.clone(),
            calls,
        }),
        ..Telephone::of(Network::Spoken(carrier))
    })
}

/// The network of a command, which places no calls and leaves the listeners to the service.
///
/// # Errors
/// `simulator.url` cannot be used.
pub(crate) fn unplugged(settings: &Settings) -> anyhow::Result<Network> {
    Ok(match (&settings.sip, &settings.twilio) {
        (Some(_), _) => Network::Spoken(Arc::new(Unplugged(NumberProvider::Sip))),
        (_, Some(_)) => Network::Spoken(Arc::new(Unplugged(NumberProvider::Twilio))),
        (None, None) => Network::Text(simulated(settings)?),
    })
}

/// The simulated network. Where calls go by a trunk, the simulated provider of legacy agents still has one of its own.
///
/// # Errors
/// `simulator.url` cannot be used.
pub(crate) fn simulated(settings: &Settings) -> anyhow::Result<Arc<dyn Carrier>> {
    match &settings.simulator.url {
        Some(url) => {
            let remote = RemoteSimulator::new(url).context("setting `simulator.url`")?;
            Ok(Arc::new(remote))
        }
        None => Ok(Arc::new(Simulator::new(
            settings.simulator.speed.unwrap_or(1.0),
        ))),
    }
}

async fn start(sip: &SipSettings) -> anyhow::Result<(SipTrunks, mpsc::Receiver<Incoming>)> {
    let mut listen = Vec::new();
    for listener in &sip.listeners {
        let certificate = match (listener.transport, &sip.tls) {
            (Transport::Tls, Some(tls)) => Some(certificate(tls)?),
            _ => None,
        };
        listen.push(Listen {
            transport: listener.transport,
            address: listener.address,
            external: listener.external,
            certificate,
        });
    }
    let trunks: Result<Vec<_>, _> = sip.trunks.iter().cloned().map(|it| it.check()).collect();
    let endpoint = Endpoint {
        tls: Some(Arc::new(offhook_egress::client_config()?)),
        ..Endpoint::new(listen)
    };
    Ok(SipTrunks::start(endpoint, trunks?).await?)
}

/// Where calls' sound goes through.
pub(crate) fn sound(sip: &SipSettings) -> SoundSettings {
    let rtp = &sip.rtp;
    SoundSettings {
        bind: rtp.address,
        external: rtp.external,
        ports: Ports::new(rtp.ports),
        latch: match rtp.from_anywhere {
            true => Latch::Anywhere,
            false => Latch::NegotiatedAddress,
        },
    }
}

/// What the TLS listener shows, and its key, both PEM.
fn certificate(settings: &TlsSettings) -> Result<(Vec<u8>, Vec<u8>)> {
    // The stack tells nobody of a certificate that it cannot use.
    tls::server_config("sip", settings)?;
    let read = |setting: &str, file: &Path| {
        std::fs::read(file).map_err(|error| {
            let file = file.display();
            SettingsError(format!(
                "setting `sip.{setting}` ({file}) cannot be read: {error}"
            ))
        })
    };
    Ok((
        read("tls_cert", &settings.cert)?,
        read("tls_key", &settings.key)?,
    ))
}

/// A network that this process has no part in, and whose numbers its calls have.
struct Unplugged(NumberProvider);

#[async_trait]
impl AudioCarrier for Unplugged {
    async fn dial(&self, _: DialRequest) -> Result<AudioLeg, DialError> {
        Err(DialError::NotConnected)
    }

    async fn hang_up_orphan(&self, _: CallHandle) -> Result<(), DialError> {
        Err(DialError::NotConnected)
    }

    fn is_down(&self) -> bool {
        true
    }

    fn number_provider(&self) -> NumberProvider {
        self.0
    }
}
