//! G.711: 8 bits per sample, as µ-law (PCMU) or A-law (PCMA).
//!
//! Linear samples have 16 bits here. G.711's own scale has 14 bits for µ-law and 13 for A-law, at the upper end of
//! the 16. An encoder drops the lower bits, as the reference code of ITU-T G.191 does.

/// A G.711 variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// µ-law: North America and Japan.
    Pcmu,
    /// A-law: all other countries.
    Pcma,
}

impl Codec {
    /// Both, in the order of our offer.
    pub const ALL: [Self; 2] = [Self::Pcmu, Self::Pcma];

    /// Returns the static payload type (RFC 3551, table 4).
    #[must_use]
    pub const fn payload_type(self) -> u8 {
        match self {
            Self::Pcmu => 0,
            Self::Pcma => 8,
        }
    }

    /// Returns the encoding name in SDP (RFC 3551, §4.5.14).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcmu => "PCMU",
            Self::Pcma => "PCMA",
        }
    }

    /// Returns the code of silence.
    #[must_use]
    pub const fn silence(self) -> u8 {
        match self {
            Self::Pcmu => 0xFF,
            Self::Pcma => 0xD5,
        }
    }

    /// Encodes a sample.
    #[must_use]
    pub const fn encode(self, sample: i16) -> u8 {
        match self {
            Self::Pcmu => ulaw_compress(sample),
            Self::Pcma => alaw_compress(sample),
        }
    }

    /// Decodes a code.
    #[must_use]
    pub const fn decode(self, code: u8) -> i16 {
        match self {
            Self::Pcmu => ULAW[code as usize],
            Self::Pcma => ALAW[code as usize],
        }
    }

    /// Encodes `samples` and appends the codes.
    pub fn encode_into(self, samples: &[i16], codes: &mut Vec<u8>) {
        codes.extend(samples.iter().map(|&sample| self.encode(sample)));
    }

    /// Decodes `codes` and appends the samples.
    pub fn decode_into(self, codes: &[u8], samples: &mut Vec<i16>) {
        samples.extend(codes.iter().map(|&code| self.decode(code)));
    }
}

const ULAW: [i16; 256] = {
    let mut table = [0; 256];
    let mut code = 0;
    while code < 256 {
        table[code] = ulaw_expand(code as u8);
        code += 1;
    }
    table
};

const ALAW: [i16; 256] = {
    let mut table = [0; 256];
    let mut code = 0;
    while code < 256 {
        table[code] = alaw_expand(code as u8);
        code += 1;
    }
    table
};

/// 33 is µ-law's bias: it gives every magnitude a leading bit at or above the sixth, which determines the segment.
const ULAW_BIAS: u16 = 33;
const ULAW_MOST: u16 = 0x1FFF;

const fn ulaw_compress(sample: i16) -> u8 {
    let magnitude = ((if sample < 0 { !sample } else { sample }) >> 2) as u16 + ULAW_BIAS;
    let magnitude = if magnitude > ULAW_MOST {
        ULAW_MOST
    } else {
        magnitude
    };
    let segment = 10 - magnitude.leading_zeros();
    let step = (magnitude >> (segment + 1)) & 0x0F;
    // All bits are inverted; the sign bit of a positive sample is set.
    let code = (((7 - segment) << 4) as u8) | (0x0F - step as u8);
    if sample < 0 { code } else { code | 0x80 }
}

const fn ulaw_expand(code: u8) -> i16 {
    let segment = (!code >> 4) & 0x07;
    let step = (!code & 0x0F) as i16;
    let magnitude =
        (0x80 << segment) + (step << (segment + 3)) + (4 << segment) - 4 * ULAW_BIAS as i16;
    if code < 0x80 { -magnitude } else { magnitude }
}

/// A-law inverts its even bits.
const ALAW_MASK: u8 = 0x55;

const fn alaw_compress(sample: i16) -> u8 {
    let magnitude = ((if sample < 0 { !sample } else { sample }) >> 4) as u16;
    let code = if magnitude < 32 {
        magnitude as u8
    } else {
        let segment = 12 - magnitude.leading_zeros();
        ((segment << 4) as u8) + ((magnitude >> (segment - 1)) as u8 - 16)
    };
    (if sample < 0 { code } else { code | 0x80 }) ^ ALAW_MASK
}

const fn alaw_expand(code: u8) -> i16 {
    let code = code ^ ALAW_MASK;
    let segment = (code >> 4) & 0x07;
    let step = ((code & 0x0F) as i16) << 4;
    let magnitude = match segment {
        0 => step + 8,
        _ => (step + 0x108) << (segment - 1),
    };
    if code < 0x80 { -magnitude } else { magnitude }
}
