//! Settings of calls that are heard: `speech`, `sip`, `calls.carrier = "sip"`.

use std::time::Duration;

use offhook_media::pump::Latch;
use offhook_providers::{ProviderSettings, SpeechProgram, SpeechProvider, SpeechTransport};
use offhook_sip::Transport;

use super::{file, refuses, variables};
use crate::settings::SipSettings;
use crate::telephone::sound;

const TRUNK: &str = "calls.carrier = \"sip\"\nsip.udp = \"192.0.2.10:5060\"\n[sip.trunks.twilio]\n\
    server = \"name.pstn.twilio.com\"\n";

fn sip(text: &str) -> SipSettings {
    file(text).unwrap().sip.unwrap()
}

#[test]
fn a_trunk_needs_a_server_and_an_address_to_be_reached_at() {
    let sip = sip(TRUNK);
    assert_eq!(sip.trunk, "twilio");
    assert_eq!(sip.trunks.len(), 1);
    assert_eq!(sip.trunks[0].server, "name.pstn.twilio.com");
    assert_eq!(sip.trunks[0].keep_alive_seconds, 30);
    assert_eq!(sip.listeners.len(), 1);
    assert_eq!(sip.listeners[0].transport, Transport::Udp);
    assert_eq!(sip.listeners[0].address.to_string(), "192.0.2.10:5060");
    assert_eq!(sip.listeners[0].external, None);
    assert_eq!(sip.rtp.address.to_string(), "192.0.2.10");
    assert_eq!(sip.rtp.external, None);
    assert_eq!(sip.rtp.ports.count(), 500);
    assert_eq!(sound(&sip).latch, Latch::NegotiatedAddress);
    assert!(!sip.trunks[0].accept_digest);
}

#[test]
fn everything_of_a_trunk_is_read() {
    let text = r#"
        calls = { carrier = "sip", trunk = "second", allowed_prefixes = ["+52"] }
        [sip]
        udp = "0.0.0.0:5060"
        udp_external = "203.0.113.7"
        tcp = "10.0.0.5:5060"
        tcp_external = "203.0.113.7:5070"
        tls = "10.0.0.5:5061"
        tls_cert = "cert.pem"
        tls_key = "key.pem"
        rtp_ports = "30000-30003"
        rtp_from_anywhere = true
        [sip.trunks.first]
        server = "192.0.2.1"
        [sip.trunks.second]
        server = "sip.example.com"
        transport = "tls"
        user = "offhook"
        password = "hunter2"
        from_domain = "example.com"
        caller_id_header = "p-asserted-identity"
        allowed_sources = ["198.51.100.0/24"]
        accept_digest = true
        keep_alive_seconds = 0
    "#;
    let settings = file(text).unwrap();
    settings.check_serving().unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
    let sip = settings.sip.unwrap();
    let externals: Vec<_> = sip
        .listeners
        .iter()
        .map(|listener| listener.external.map(|address| address.to_string()))
        .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        externals,
        [some("203.0.113.7:5060"), some("203.0.113.7:5070"), None]
    );
    assert_eq!(sip.rtp.address.to_string(), "0.0.0.0");
    assert_eq!(
        sip.rtp.external.map(|address| address.to_string()),
        some("203.0.113.7"),
        "sound goes the way of the first listener"
    );
    assert_eq!(sip.rtp.ports.count(), 2);
    assert_eq!(sound(&sip).latch, Latch::Anywhere);
    assert_eq!(sip.trunk, "second");
    let trunk = sip.outgoing().unwrap().clone();
    assert!(trunk.accept_digest);
    let trunk = trunk.check().unwrap();
    assert_eq!(
        (trunk.name(), trunk.transport()),
        ("second", Transport::Tls)
    );
}

#[test]
fn a_trunk_may_be_told_by_variables() {
    let settings = variables(&[
        ("OFFHOOK_CALLS__CARRIER", "sip"),
        ("OFFHOOK_CALLS__ALLOWED_PREFIXES", "+52"),
        ("OFFHOOK_SIP__TCP", "127.0.0.1:5060"),
        (
            "OFFHOOK_SIP__TRUNKS__TWILIO__SERVER",
            "sip:192.0.2.1;transport=tcp",
        ),
        (
            "OFFHOOK_SIP__TRUNKS__TWILIO__ALLOWED_SOURCES",
            "192.0.2.2,192.0.2.8/30",
        ),
        ("OFFHOOK_SIP__TRUNKS__TWILIO__KEEP_ALIVE_SECONDS", "60"),
    ])
    .unwrap();
    settings.check_serving().unwrap();
    let trunks = settings.sip.unwrap().trunks;
    assert_eq!(trunks[0].allowed_sources, ["192.0.2.2", "192.0.2.8/30"]);
    assert_eq!(trunks[0].keep_alive_seconds, 60);
}

#[test]
fn a_trunk_that_cannot_be_used_is_told_with_its_setting_and_the_remedy() {
    let cases = r#"
        sip.udp = "127.0.0.1:5060"
        => section `sip` is without effect, as `calls.carrier` is not `sip`: set that to `sip`, or remove this

        calls.trunk = "twilio"
        => setting `calls.trunk` is without effect, as `calls.carrier` is not `sip`: set that to `sip`, or remove this

        calls.carrier = "sip"
        sip.udp = "127.0.0.1:5060"
        => section `sip.trunks` is missing: `calls.carrier` is `sip`, and calls go by a trunk; describe it as
           `sip.trunks.<name>`, with its `server` at least

        calls.carrier = "sip"
        sip.trunks.a.server = "192.0.2.1"
        => setting `sip.udp` is missing: `calls.carrier` is `sip`, and the carrier has to reach this machine; give the
           address to listen on, such as 192.0.2.10:5060, or that of `sip.tcp` or `sip.tls`

        calls.carrier = "sip"
        sip.udp = "127.0.0.1:5060"
        sip.trunks.a = { server = "192.0.2.1", transport = "tcp" }
        => setting `sip.tcp` is missing: the trunk `a` speaks by TCP, and is answered there; give the address to listen on

        TRUNK
        [sip.trunks.b]
        user = "u"
        => setting `sip.trunks.b.server` is missing: give the carrier's server, such as sip.example.com

        TRUNK
        user = "hunter2"
        => setting `sip.trunks.twilio.password`: is missing: `user` goes with one

        TRUNK
        transport = "sctp"
        => setting `sip.trunks.twilio.transport`: must be `udp`, `tcp` or `tls`

        TRUNK
        keep_alive_seconds = 4
        => setting `sip.trunks.twilio.keep_alive_seconds`: must be 0 (never) or 5 to 3600

        TRUNK
        [sip.trunks.Big]
        server = "192.0.2.1"
        => section `sip.trunks.Big`: its name must be 1 to 40 lower-case letters, digits, `-` and `_`

        TRUNK
        [sip.trunks.b]
        server = "192.0.2.1"
        => setting `calls.trunk` is missing: there are the trunks `b`, `twilio`; name the one by which calls go out

        calls.trunk = "twillio"
        TRUNK
        => setting `calls.trunk` names no trunk of `sip.trunks`: it has `twilio`

        calls.carrier = "sip"
        sip.udp = "0.0.0.0:5060"
        sip.trunks.a.server = "192.0.2.1"
        => setting `sip.udp_external` is missing: `sip.udp` is every address of this machine, and a carrier is told one;
           give the address that it reaches, or listen on that one alone

        calls.carrier = "sip"
        sip.tcp_external = "192.0.2.1"
        => setting `sip.tcp_external` needs `sip.tcp`: give the address to listen on, or remove it

        sip.rtp_address = "0.0.0.0"
        TRUNK
        => setting `sip.rtp_external` is missing: `sip.rtp_address` is every address of this machine, and a call's
           description names one; give the address that carriers reach

        sip.rtp_ports = "40001-40001"
        TRUNK
        => setting `sip.rtp_ports` (in DIR/offhook.toml) must be two ports above 1023, such as 40000-40999

        sip.tls = "127.0.0.1:5061"
        TRUNK
        => setting `sip.tls` needs `sip.tls_cert`: name the file of the listener's certificate

        sip.tls = "127.0.0.1:5061"
        sip.tls_cert = "c"
        TRUNK
        => setting `sip.tls_cert` needs `sip.tls_key`: name the file of its private key

        sip.tls_key = "k"
        TRUNK
        => setting `sip.tls_key` is without effect: it is the listener's of `sip.tls`; give that, or remove it

        TRUNK
        pasword = "hunter2"
        => unknown setting `sip.trunks.twilio.pasword` in DIR/offhook.toml: did you mean `sip.trunks.twilio.password`?
    "#;
    refuses(&cases.replace("TRUNK\n", TRUNK));
}

#[test]
fn what_may_be_dialed_over_a_trunk_is_to_be_said() {
    let open = file(TRUNK).unwrap();
    let refused = open.check_serving().unwrap_err().0;
    assert!(
        refused.starts_with("setting `calls.allowed_prefixes` is missing: "),
        "{refused}"
    );
    let bounded = file(&format!("calls.allowed_prefixes = [\"+52\"]\n{TRUNK}")).unwrap();
    bounded.check_serving().unwrap();
}

#[test]
fn each_kind_of_speech_provider_is_read() {
    let text = r#"
        [speech.deepgram]
        kind = "deepgram"
        base_url = "https://api.deepgram.com"
        api_key = "hunter2"
        [speech.provider_a]
        kind = "elevenlabs"
        base_url = "https://api.elevenlabs.io"
        api_key = "hunter2"
        [speech.provider_b]
        kind = "cartesia"
        base_url = "https://api.cartesia.ai"
        transport = "http"
        [speech.openai]
        kind = "openai"
        base_url = "http://127.0.0.1:9000/v1"
        [speech.local]
        kind = "exec"
        voices = ["slt", "awb"]
        listen.command = ["/usr/bin/hear", "{file}"]
        speak = { command = ["/usr/bin/speak"], limit_seconds = 5, at_once = 8 }
    "#;
    let settings = file(text).unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
    let endpoint = |base_url: &str, api_key: Option<&str>| ProviderSettings {
        base_url: base_url.to_owned(),
        api_key: api_key.map(str::to_owned),
    };
    let program = |command: &[&str], limit, at_once| SpeechProgram {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        sample_rate: 16_000,
        limit: Duration::from_secs(limit),
        at_once,
    };
    let expected = [
        (
            "deepgram",
            SpeechProvider::Deepgram(endpoint("https://api.deepgram.com", Some("hunter2"))),
        ),
        (
            "local",
            SpeechProvider::Exec {
                listen: Some(program(&["/usr/bin/hear", "{file}"], 10, 2)),
                speak: Some(program(&["/usr/bin/speak"], 5, 8)),
            },
        ),
        (
            "openai",
            SpeechProvider::OpenAi(endpoint("http://127.0.0.1:9000/v1", None)),
        ),
        (
            "provider_a",
            SpeechProvider::ElevenLabs(
                endpoint("https://api.elevenlabs.io", Some("hunter2")),
                SpeechTransport::WebSocket,
            ),
        ),
        (
            "provider_b",
            SpeechProvider::Cartesia(
                endpoint("https://api.cartesia.ai", None),
                SpeechTransport::Http,
            ),
        ),
    ];
    let expected = expected.map(|(name, provider)| (name.to_owned(), provider));
    assert_eq!(settings.speech_voices["local"], ["slt", "awb"]);
    assert_eq!(settings.speech.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_speech_provider_that_cannot_be_used_is_told_with_its_setting_and_the_remedy() {
    refuses(
        r#"
        speech.scripted.kind = "exec"
        => section `speech.scripted`: this provider is built in and takes no settings

        speech.local.base_url = "http://127.0.0.1:1"
        => setting `speech.local.kind` is missing: give the shape of the service's interface, deepgram, elevenlabs,
           cartesia, openai or exec

        speech.local.kind = "whisper"
        => setting `speech.local.kind` (in DIR/offhook.toml) must be deepgram, elevenlabs, cartesia, openai or exec

        speech.local.kind = "openai"
        => setting `speech.local.base_url` is missing: give the URL that the service's paths follow

        speech.local = { kind = "openai", base_url = "http://127.0.0.1:1", transport = "http" }
        => setting `speech.local.transport` is without effect: kind `openai` does not read it; remove it

        speech.local = { kind = "openai", base_url = "http://127.0.0.1:1", speak.at_once = 1 }
        => setting `speech.local.speak` is without effect: kind `openai` does not read it; remove it

        speech.deepgram = { kind = "deepgram", base_url = "http://127.0.0.1:1", voices = ["a"] }
        => setting `speech.deepgram.voices` is without effect: kind `deepgram` does not read it; remove it

        speech.local = { kind = "exec", api_key = "hunter2" }
        => setting `speech.local.api_key` is without effect: kind `exec` does not read it; remove it

        speech.local.kind = "exec"
        => section `speech.local`: a local program needs `listen.command`, `speak.command` or both

        speech.local = { kind = "exec", listen.at_once = 1 }
        => setting `speech.local.listen.command` is missing: name the program and its arguments

        speech.local = { kind = "exec", speak.command = [] }
        => setting `speech.local.speak.command` (in DIR/offhook.toml) must be a program and its arguments, such as
           ["/usr/bin/espeak-ng", "--stdout"]

        speech.local = { kind = "exec", speak.command = ["/bin/true"], speak.sample_rate = 8000 }
        => unknown setting `speech.local.speak.sample_rate` in DIR/offhook.toml: did you mean
           `speech.local.listen.sample_rate`?
        "#,
    );
}
