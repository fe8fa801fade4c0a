use offhook_media::codec::Codec;

/// ITU-T G.711, tables 2a (µ-law) and 1a (A-law): codes before the line's inversions, and values on G.711's own
/// scale.
#[test]
fn codes_stand_for_the_values_of_the_itus_tables() {
    let ulaw = [
        (0x80, 8031),
        (0x8F, 4191),
        (0x90, 3999),
        (0x9F, 2079),
        (0xA0, 1983),
        (0xAF, 1023),
        (0xB0, 975),
        (0xBF, 495),
        (0xC0, 471),
        (0xCF, 231),
        (0xD0, 219),
        (0xDF, 99),
        (0xE0, 93),
        (0xEF, 33),
        (0xF0, 30),
        (0xFE, 2),
        (0xFF, 0),
    ];
    for (code, value) in ulaw {
        assert_eq!(Codec::Pcmu.decode(code), value * 4, "µ-law {code:#x}");
        assert_eq!(
            Codec::Pcmu.decode(code & 0x7F),
            -value * 4,
            "µ-law {:#x}",
            code & 0x7F
        );
    }
    let alaw = [
        (0xFF, 4032),
        (0xF0, 2112),
        (0xEF, 2016),
        (0xE0, 1056),
        (0xDF, 1008),
        (0xD0, 528),
        (0xCF, 504),
        (0xC0, 264),
        (0xBF, 252),
        (0xB0, 132),
        (0xAF, 126),
        (0xA0, 66),
        (0x80, 1),
    ];
    for (code, value) in alaw {
        assert_eq!(
            Codec::Pcma.decode(code ^ 0x55),
            value * 8,
            "A-law {code:#x}"
        );
        assert_eq!(
            Codec::Pcma.decode((code & 0x7F) ^ 0x55),
            -value * 8,
            "A-law {:#x}",
            code & 0x7F
        );
    }
}

/// ITU-T G.711, tables 5 and 6: 1 kHz at 0 dBm0, the measuring signal.
#[test]
fn the_itus_test_tone_is_a_sine_of_one_kilohertz() {
    let tones = [
        (
            Codec::Pcmu,
            [0x1E, 0x0B, 0x0B, 0x1E, 0x9E, 0x8B, 0x8B, 0x9E],
        ),
        (
            Codec::Pcma,
            [0x34, 0x21, 0x21, 0x34, 0xB4, 0xA1, 0xA1, 0xB4],
        ),
    ];
    for (codec, codes) in tones {
        let samples = codes.map(|code| f64::from(codec.decode(code)));
        let peak = (samples.iter().map(|sample| sample * sample).sum::<f64>() / 4.0).sqrt();
        for (place, sample) in samples.into_iter().enumerate() {
            let phase = (place as f64 + 0.5) * std::f64::consts::FRAC_PI_4;
            assert!(
                (sample + peak * phase.sin()).abs() < peak * 0.02,
                "{codec:?} {place}: {sample} of {peak}"
            );
        }
    }
}

#[test]
fn every_code_comes_back_from_its_sample() {
    for codec in Codec::ALL {
        for code in 0..=u8::MAX {
            let again = codec.encode(codec.decode(code));
            // µ-law has two zeros; the encoder never makes the negative one.
            let expected = if codec == Codec::Pcmu && code == 0x7F {
                0xFF
            } else {
                code
            };
            assert_eq!(again, expected, "{codec:?} {code:#x}");
        }
        assert_eq!(codec.encode(0), codec.silence());
    }
}

#[test]
fn samples_keep_their_order_and_come_back_within_a_step() {
    for codec in Codec::ALL {
        let decoded: Vec<i32> = (i16::MIN..=i16::MAX)
            .map(|sample| i32::from(codec.decode(codec.encode(sample))))
            .collect();
        assert!(decoded.is_sorted(), "{codec:?}");
        for (sample, decoded) in (i32::from(i16::MIN)..).zip(decoded) {
            // A step is a sixteenth of its segment; the largest values are clipped.
            let step = (sample.abs() / 16 + 16).max(sample.abs() - 32_124);
            assert!(
                (sample - decoded).abs() <= step,
                "{codec:?}: {sample} came back as {decoded}"
            );
        }
    }
}

#[test]
fn a_frame_is_encoded_and_decoded_at_once() {
    let samples = [0, 1000, -1000, i16::MAX, i16::MIN];
    for codec in Codec::ALL {
        let mut codes = vec![1];
        codec.encode_into(&samples, &mut codes);
        assert_eq!(codes.len(), 6);
        let mut decoded = vec![7];
        codec.decode_into(&codes[1..], &mut decoded);
        let expected: Vec<i16> = samples
            .iter()
            .map(|&sample| codec.decode(codec.encode(sample)))
            .collect();
        assert_eq!((decoded[0], &decoded[1..]), (7, expected.as_slice()));
    }
}
