export { simulatedClock as fakeClock } from '../../src/lab/simulated-clock.ts';
export type { SimulatedClock as FakeClock } from '../../src/lab/simulated-clock.ts';
