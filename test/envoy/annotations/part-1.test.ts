import { testTables } from './tables.ts';

testTables(1);
