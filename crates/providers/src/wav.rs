//! WAV files of one channel.

/// The file of these samples, of 16 bits, so many a second.
pub(crate) fn of(samples: &[i16], rate: u32) -> Vec<u8> {
    let bytes = samples.len() * 2;
    let data = u32::try_from(bytes).unwrap_or(u32::MAX);
    let mut file = Vec::with_capacity(44 + bytes);
    file.extend(b"RIFF");
    file.extend(data.saturating_add(36).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    // Linear, one channel.
    file.extend(1_u16.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend((rate * 2).to_le_bytes());
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
    use super::*;

    #[test]
    fn a_file_says_what_it_holds() {
        let file = of(&[1, -2], 16_000);
        assert_eq!(file.len(), 48);
        assert_eq!(file[4..8], 40_u32.to_le_bytes());
        assert_eq!(file[24..28], 16_000_u32.to_le_bytes());
        assert_eq!(file[40..], [4, 0, 0, 0, 1, 0, 254, 255]);
    }
}
