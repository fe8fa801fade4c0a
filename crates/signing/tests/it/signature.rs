use offhook_signing::{
    DEFAULT_TOLERANCE_SECONDS, MAX_SIGNATURES, SigningSecret, VerifyError, sign, verify,
};
use proptest::prelude::*;
use ring::rand::SystemRandom;

const T: i64 = 1_777_573_931;
const BODY: &[u8] = br#"{"type":"call.completed"}"#;

fn secret() -> SigningSecret {
    SigningSecret::generate(&SystemRandom::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn check(header: &str, secret: &SigningSecret) -> Result<(), VerifyError> {
    verify(header, BODY, secret, T, DEFAULT_TOLERANCE_SECONDS)
}

#[test]
fn a_signed_body_verifies() {
    let secret = secret();
    assert_eq!(
        check(&sign(std::slice::from_ref(&secret), T, BODY), &secret),
        Ok(())
    );
}

#[test]
fn every_secret_of_an_overlap_verifies_and_no_other() {
    let secrets = [secret(), secret(), secret()];
    let header = sign(&secrets, T, BODY);
    for secret in &secrets {
        assert_eq!(check(&header, secret), Ok(()));
    }
    assert_eq!(check(&header, &secret()), Err(VerifyError::NoMatch));
}

#[test]
fn signatures_stand_in_the_order_of_the_secrets() {
    let secrets = [secret(), secret()];
    let single = |secret: &SigningSecret| {
        sign(std::slice::from_ref(secret), T, BODY).split_off("t=1777573931,".len())
    };
    assert_eq!(
        sign(&secrets, T, BODY),
        format!("t={T},{},{}", single(&secrets[0]), single(&secrets[1]))
    );
}

#[test]
fn another_body_or_time_does_not_match() {
    let secret = secret();
    let header = sign(std::slice::from_ref(&secret), T, BODY);
    assert_eq!(
        verify(
            &header,
            br#"{"type":"call.completed"} "#,
            &secret,
            T,
            DEFAULT_TOLERANCE_SECONDS
        ),
        Err(VerifyError::NoMatch)
    );
    assert_eq!(
        check(&header.replace("t=1777573931", "t=1777573932"), &secret),
        Err(VerifyError::NoMatch)
    );
    assert_eq!(
        check(&header.replace("t=1777573931", "t=01777573931"), &secret),
        Err(VerifyError::NoMatch)
    );
}

#[test]
fn the_point_between_time_and_body_cannot_move() {
    let secret = secret();
    let header = sign(std::slice::from_ref(&secret), T, b"1.x");
    let moved = header.replace("t=1777573931", "t=17775739311");
    let expected = Err(VerifyError::NoMatch);
    assert_eq!(verify(&moved, b"x", &secret, 17_775_739_311, 300), expected);
}

#[test]
fn three_hundred_seconds_either_way_are_tolerated_and_no_more() {
    let secret = secret();
    let header = sign(std::slice::from_ref(&secret), T, BODY);
    let at = |now| verify(&header, BODY, &secret, now, DEFAULT_TOLERANCE_SECONDS);
    assert_eq!(at(T - 300), Ok(()));
    assert_eq!(at(T + 300), Ok(()));
    assert_eq!(at(T - 301), Err(VerifyError::OutsideTolerance));
    assert_eq!(at(T + 301), Err(VerifyError::OutsideTolerance));
    assert_eq!(at(i64::MIN), Err(VerifyError::OutsideTolerance));
    let expected = Err(VerifyError::OutsideTolerance);
    assert_eq!(verify(&header, BODY, &secret, T + 1, 0), expected);
}

#[test]
fn malformed_headers_are_refused() {
    let secret = secret();
    let header = sign(std::slice::from_ref(&secret), T, BODY);
    let (time, v1) = header.split_once(',').unwrap();
    for header in [
        "",
        "t",
        time,
        v1,
        &format!("{time},{time},{v1}"),
        &format!("t=1,{header}"),
        &format!("{header},t="),
        &format!("t=,{v1}"),
        &format!("t=-1,{v1}"),
        &format!("t=+1777573931,{v1}"),
        &format!("t= 1777573931,{v1}"),
        &format!("t=1777573931.0,{v1}"),
        &format!("t=99999999999999999999,{v1}"),
        &format!("t=١٧٧٧٥٧٣٩٣١,{v1}"),
        &format!("{time},v1="),
        &format!("{time},{v1}0"),
        &format!("{time},{}", &v1[..66]),
        &format!("{time},{}g", &v1[..66]),
        &format!("{time};{v1}"),
        &format!("{header},"),
        &format!("{header},junk"),
        &format!("{time}{}", format!(",{v1}").repeat(MAX_SIGNATURES + 1)),
    ] {
        assert_eq!(
            check(header, &secret),
            Err(VerifyError::Malformed),
            "{header}"
        );
    }
    let expected = Err(VerifyError::Malformed);
    assert_eq!(check(&sign(&[], T, BODY), &secret), expected);
}

#[test]
fn schemes_to_come_and_the_order_of_elements_do_not_matter() {
    let secret = secret();
    let header = sign(std::slice::from_ref(&secret), T, BODY);
    let (time, v1) = header.split_once(',').unwrap();
    let wrong = "v1=0000000000000000000000000000000000000000000000000000000000000000";
    for header in [
        format!("{v1},{time}"),
        format!("{time},v0=x,{wrong},{v1},v2=a=b"),
        format!("{time},{v1},{wrong}"),
    ] {
        assert_eq!(check(&header, &secret), Ok(()), "{header}");
    }
}

#[test]
fn another_scheme_alone_is_not_enough() {
    let secret = secret();
    let header = sign(std::slice::from_ref(&secret), T, BODY).replace("v1=", "v0=");
    assert_eq!(check(&header, &secret), Err(VerifyError::Malformed));
}

proptest! {
    #[test]
    fn any_body_and_time_verify_and_any_flipped_bit_does_not(
        mut body in prop::collection::vec(any::<u8>(), 1..200), t in 0..i64::MAX, flip in any::<prop::sample::Index>(),
    ) {
        let secret = secret();
        let header = sign(std::slice::from_ref(&secret), t, &body);
        prop_assert_eq!(verify(&header, &body, &secret, t, 0), Ok(()));
        let bit = flip.index(body.len() * 8);
        body[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(verify(&header, &body, &secret, t, 0), Err(VerifyError::NoMatch));
    }

    #[test]
    fn no_header_makes_verification_panic(header in "([tv]1?=)?[0-9a-f,=é]{0,80}|.{0,80}", now in any::<i64>()) {
        let refused = verify(&header, BODY, &secret(), now, DEFAULT_TOLERANCE_SECONDS);
        prop_assert!(refused.is_err());
    }
}
