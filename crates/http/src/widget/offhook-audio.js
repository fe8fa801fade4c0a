/*
 * The widget's sound, on the browser's own audio thread. Sound on the wire is mono, 16 bit little-endian, 16 kHz; the
 * browser's is of whatever rate its hardware has.
 */
"use strict";

const WIRE_RATE = 16000;

/** 20 ms on the wire. */
const FRAME = WIRE_RATE / 50;

/** Zero crossings of the filter's sinc on each side, and entries of its table between two of them. */
const CROSSINGS = 12;
const FINENESS = 256;

/** A stream of samples on its way from one rate to another, by a windowed sinc. */
class Resampler {
  constructor(from, to) {
    this.step = from / to;
    this.cutoff = 0.92 * Math.min(1, to / from);
    this.half = Math.ceil(CROSSINGS / this.cutoff);
    this.table = new Float32Array(this.half * FINENESS + 2);
    for (let at = 0; at < this.table.length; at += 1) {
      const time = at / FINENESS;
      const x = Math.PI * this.cutoff * time;
      const window = time >= this.half ? 0 : 0.5 + 0.5 * Math.cos((Math.PI * time) / this.half);
      this.table[at] = this.cutoff * (x === 0 ? 1 : Math.sin(x) / x) * window;
    }
    this.clear();
  }

  clear() {
    this.input = new Float32Array(this.half);
    /** Where the next output is, in samples of `input`. */
    this.at = this.half;
  }

  /** Takes samples; the output that can be told already. */
  push(samples) {
    const input = new Float32Array(this.input.length + samples.length);
    input.set(this.input);
    input.set(samples, this.input.length);
    const out = [];
    while (Math.floor(this.at) + this.half < input.length) {
      const whole = Math.floor(this.at);
      let sum = 0;
      for (let n = whole - this.half + 1; n <= whole + this.half; n += 1) {
        const place = Math.abs(this.at - n) * FINENESS;
        const low = Math.floor(place);
        const part = place - low;
        sum += input[n] * (this.table[low] * (1 - part) + this.table[low + 1] * part);
      }
      out.push(sum);
      this.at += this.step;
    }
    const passed = Math.max(0, Math.floor(this.at) - this.half);
    this.input = input.slice(passed);
    this.at -= passed;
    return out;
  }
}

/** Sends what the microphone hears, 20 ms at a time. Muted, it sends silence: a page that sends nothing counts as gone. */
class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(sampleRate, WIRE_RATE);
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.frames = 0;
    this.loudness = 0;
    this.muted = false;
    this.port.onmessage = ({ data }) => {
      this.muted = data.muted;
    };
  }

  process(inputs) {
    const heard = inputs[0] && inputs[0][0];
    const samples = heard && !this.muted ? heard : new Float32Array(heard ? heard.length : 128);
    for (const sample of this.resampler.push(samples)) {
      const value = Math.max(-1, Math.min(1, sample));
      this.loudness += value * value;
      this.frame[this.filled] = value * 32767;
      this.filled += 1;
      if (this.filled === FRAME) this.send();
    }
    return true;
  }

  send() {
    const sound = new ArrayBuffer(FRAME * 2);
    const view = new DataView(sound);
    this.frame.forEach((sample, at) => view.setInt16(at * 2, sample, true));
    this.port.postMessage({ sound }, [sound]);
    this.filled = 0;
    this.frames += 1;
    if (this.frames % 5 === 0) {
      this.port.postMessage({ level: Math.sqrt(this.loudness / (5 * FRAME)) });
      this.loudness = 0;
    }
  }
}

/** Plays what comes, a little later than it comes, so that a network which is not steady is not heard. */
class Speaker extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(WIRE_RATE, sampleRate);
    /** What waits before it is begun with, and what is never kept waiting: 60 ms, a second. */
    this.least = 0.06 * sampleRate;
    this.most = sampleRate;
    this.clear();
    this.port.onmessage = ({ data }) => {
      if (data.sound) this.take(data.sound);
      if (data.clear) this.clear();
      if (data.drain) {
        this.isLast = true;
        if (!this.playing && this.waiting === 0) this.port.postMessage({ playing: false });
      }
    };
  }

  clear() {
    this.resampler.clear();
    this.queue = [];
    this.offset = 0;
    this.waiting = 0;
    this.patience = 0;
    this.tell(false);
  }

  tell(playing) {
    if (this.playing !== undefined && this.playing !== playing) this.port.postMessage({ playing });
    this.playing = playing;
  }

  take(sound) {
    const view = new DataView(sound);
    const samples = new Float32Array(sound.byteLength >> 1);
    for (let at = 0; at < samples.length; at += 1) samples[at] = view.getInt16(at * 2, true) / 32768;
    const out = this.resampler.push(samples);
    if (out.length === 0) return;
    this.queue.push(out);
    this.waiting += out.length;
    while (this.waiting > this.most) this.drop();
  }

  drop() {
    this.waiting -= this.queue.shift().length - this.offset;
    this.offset = 0;
  }

  process(_inputs, outputs) {
    const out = outputs[0][0];
    if (!this.playing && this.waiting > 0) {
      this.patience += out.length;
      if (this.waiting >= this.least || this.patience >= this.least || this.isLast) this.tell(true);
    }
    if (!this.playing) return true;
    this.patience = 0;
    let at = 0;
    while (at < out.length && this.queue.length > 0) {
      const chunk = this.queue[0];
      const length = Math.min(out.length - at, chunk.length - this.offset);
      for (let n = 0; n < length; n += 1) out[at + n] = chunk[this.offset + n];
      at += length;
      this.offset += length;
      this.waiting -= length;
      if (this.offset === chunk.length) {
        this.queue.shift();
        this.offset = 0;
      }
    }
    if (this.waiting === 0) this.tell(false);
    return true;
  }
}

registerProcessor("offhook-microphone", Microphone);
registerProcessor("offhook-speaker", Speaker);
